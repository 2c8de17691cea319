// The database: its public calls, each as a list of steps.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "db/engine/background/background.h"
#include "db/engine/catalog/catalog.h"
#include "db/engine/core/core.h"
#include "db/engine/core/database_state.h"
#include "db/engine/open/database_parts.h"
#include "db/engine/open/live_reader.h"
#include "db/engine/read/held_bytes.h"
#include "db/engine/read/held_view.h"
#include "db/engine/read/point_lookup.h"
#include "db/engine/transaction/transaction_context.h"
#include "db/engine/write/commit_pipeline.h"
#include "db/format/owned_family.h"
#include "db/format/system_row.h"
#include "sepal/db.h"
#include "util/thread/fork.h"

namespace sepal {

// A user's handle of a family. Knows its database, so that another database refuses it.
class FamilyHandle final : public OwnedFamily {
 public:
  FamilyHandle(std::shared_ptr<Core> core, uint64_t database_id, FamilyRef family)
      : OwnedFamily(family->id, database_id, core->path), core_(std::move(core)), family_(std::move(family)) {}
  ~FamilyHandle() override {
    if (core_->Forked()) LeakAfterFork(std::pair(core_, family_));
    family_.reset();
  }
  std::string_view name() const override { return family_->name; }
  const Core* core() const { return core_.get(); }
  const std::shared_ptr<Core>& shared_core() const { return core_; }
  const FamilyRef& family() const { return family_; }
  // Returns the InvalidArgument of a call on another database.
  absl::Status IsOfAnother() const {
    return absl::InvalidArgumentError(
        absl::StrFormat("the handle of column family \"%s\" belongs to another database", name()));
  }

 private:
  const std::shared_ptr<Core> core_;
  FamilyRef family_;
};

class GroupLookup;
class KeyGroup;

class Engine final : public DB, private TransactionHost {
 public:
  // Opens a database (db/engine/face/db.cc, opening.h).
  static absl::StatusOr<std::unique_ptr<DB>> Open(const Options& options, const Tuning& tuning,
                                                  std::string_view directory);

  explicit Engine(DatabaseParts parts);
  ~Engine() override;

  absl::Status Put(const ColumnFamily& family, std::string_view key, std::string_view value,
                   const WriteOptions& options) override;
  absl::Status Delete(const ColumnFamily& family, std::string_view key, const WriteOptions& options) override;
  absl::Status SingleDelete(const ColumnFamily& family, std::string_view key, const WriteOptions& options) override;
  absl::Status DeleteRange(const ColumnFamily& family, std::string_view begin, std::optional<std::string_view> end,
                           const WriteOptions& options) override;
  absl::Status Merge(const ColumnFamily& family, std::string_view key, std::string_view operand,
                     const WriteOptions& options) override;
  absl::Status SetFilterEpoch(const ColumnFamily& family, std::string_view epoch) override;
  absl::Status Write(const WriteBatch& batch, const WriteOptions& options) override;
  absl::StatusOr<bool> WriteIf(const WriteConditions& conditions, const WriteBatch& batch,
                               const WriteOptions& options) override;
  absl::StatusOr<std::unique_ptr<Transaction>> BeginTransaction(const TransactionOptions& options) override;
  absl::StatusOr<std::vector<PreparedTransaction>> PreparedTransactions() override;
  absl::StatusOr<std::unique_ptr<Transaction>> FindPrepared(std::string_view name) override;

  absl::Status Get(const ColumnFamily& family, std::string_view key, PinnedValue& value,
                   const ReadOptions& options) override;
  absl::StatusOr<std::string> Get(const ColumnFamily& family, std::string_view key,
                                  const ReadOptions& options) override;
  absl::Status MultiGet(const ColumnFamily& family, std::span<const std::string_view> keys,
                        std::span<PinnedValue> values, std::span<absl::Status> statuses,
                        const ReadOptions& options) override;
  std::vector<absl::StatusOr<std::string>> MultiGet(const ColumnFamily& family, std::span<const std::string_view> keys,
                                                    const ReadOptions& options) override;
  bool KeyMayExist(const ColumnFamily& family, std::string_view key, const ReadOptions& options) override;
  absl::Status PutStream(const ColumnFamily& family, std::string_view key, uint64_t value_bytes, ValueSource& source,
                         const WriteOptions& options) override;
  absl::StatusOr<ValuePart> ReadValue(const ColumnFamily& family, std::string_view key, uint64_t offset,
                                      std::span<char> buffer, const ReadOptions& options) override;
  std::unique_ptr<Iterator> NewIterator(const ColumnFamily& family, const ReadOptions& options) override;
  absl::StatusOr<std::vector<KeyVersion>> History(const ColumnFamily& family, std::string_view key,
                                                  const HistoryOptions& options) override;
  std::shared_ptr<const Snapshot> GetSnapshot() override;
  absl::StatusOr<std::shared_ptr<const Snapshot>> CreateSnapshot(std::string_view name,
                                                                 const NamedSnapshotOptions& options) override;
  absl::StatusOr<std::shared_ptr<const Snapshot>> FindSnapshot(std::string_view name) override;
  absl::Status DropSnapshot(std::string_view name) override;
  absl::Status AcceptClock() override;
  absl::StatusOr<std::vector<NamedSnapshot>> ListSnapshots(const ListSnapshotsOptions& options) override;

  absl::StatusOr<std::shared_ptr<ColumnFamily>> CreateColumnFamily(std::string_view name,
                                                                   const ColumnFamilyOptions& options) override;
  absl::Status DropColumnFamily(const ColumnFamily& family) override;
  absl::StatusOr<std::shared_ptr<ColumnFamily>> FindColumnFamily(std::string_view name) override;
  std::vector<std::string> ColumnFamilyNames() override;

  absl::Status Flush(const ColumnFamily& family, const FlushOptions& options) override;
  absl::Status Sync() override;
  absl::Status CompactRange(const ColumnFamily& family, const CompactRangeOptions& options) override;
  absl::Status WaitForBackgroundWork() override;
  absl::Status PauseBackgroundWork() override;
  absl::Status ContinueBackgroundWork() override;
  absl::Status CatchUp() override;
  absl::Status Checkpoint(std::string_view directory, const CheckpointOptions& options) override;
  absl::Status Close() override;

  std::optional<std::string> GetProperty(const ColumnFamily& family, std::string_view name) override;
  absl::StatusOr<GetExplanation> ExplainGet(const ColumnFamily& family, std::string_view key,
                                            const ReadOptions& options) override;
  absl::StatusOr<Properties> GetProperties(const ColumnFamily& family) override;
  absl::StatusOr<std::vector<uint64_t>> GetApproximateSizes(const ColumnFamily& family,
                                                            std::span<const Range> ranges) override;
  absl::StatusOr<double> ApproximateDistinct(const ColumnFamily& family, const std::optional<Range>& range) override;
  absl::StatusOr<filters::BloomFilter> ExportFilter(const ColumnFamily& family, const ExportFilterOptions& options,
                                                    const ReadOptions& read) override;
  Statistics& statistics() override { return core_->statistics; }
  absl::Status CheckConsistency() override;
  absl::Status VerifyChecksums(const VerifyChecksumsOptions& options) override;

 private:
  // Returns the family that a call means; null if the call is refused, for the reason that Refusal returns.
  Family* Find(const ColumnFamily& family) const {
    if (!core_->open_mark.IsOpen()) [[unlikely]]
      return nullptr;
    if (&family == default_column_family_) [[likely]]
      return default_family_;
    return FindByHandle(family);
  }
  Family* FindByHandle(const ColumnFamily& family) const;
  absl::Status Refusal(const ColumnFamily& family) const;
  absl::StatusOr<Family*> Resolve(const ColumnFamily& family) const;
  absl::StatusOr<FamilyRef> ResolveShared(const ColumnFamily& family) const;
  // Writes of expiring puts (engine_expiry.cc).
  absl::Status PutExpiring(const ColumnFamily& family, std::string_view key, std::string_view value,
                           const WriteOptions& options);
  // Writes an expiring put, whose family, size and expiry have been checked.
  absl::Status WriteExpiring(const Family& family, std::string_view key, std::string_view value, uint64_t expiry_millis,
                             const WriteOptions& options);
  // Checks that no put of a user's batch has expired, unless that was checked before, and records in the manifest that
  // puts may expire.
  absl::Status AdmitExpiry(const WriteBatch& batch);
  // The batch with the times at which its puts expire by their families' times to live.
  absl::StatusOr<std::string> StampExpiry(std::string_view batch);
  static WriteOptions WithoutExpiry(const WriteOptions& options);
  // 0: the put does not expire.
  absl::StatusOr<uint64_t> ExpiryOf(const Family& family, const WriteOptions& options);
  absl::Status AllowExpiry() override;
  // Puts whose values go to value files (engine_values.cc).
  static bool Separates(const Family& family, ValueKind kind, std::string_view value) {
    const size_t from = family.options.separate_from;
    return MayBeSeparated(kind) && from != 0 && value.size() >= from;
  }
  // Waits, or refuses the write, before any of its values is written.
  absl::Status AllowValues(uint64_t value_bytes, const WriteOptions& options) EXCLUDES_STATE_LOCK;
  // Appends stored values to a value file; `compressed` says whether any of them is compressed.
  absl::StatusOr<ValueWriter::Place> AppendStored(std::string_view bytes, bool compressed);
  // `expiry_millis`: 0 for a put that does not expire.
  absl::Status PutSeparated(const Family& family, std::string_view key, std::string_view value, uint64_t expiry_millis,
                            const WriteOptions& options);
  // Puts of values that come in parts (engine_streams.cc): short ones, and those that go to a file.
  absl::Status PutGathered(const ColumnFamily& family, std::string_view key, uint64_t value_bytes, ValueSource& source,
                           const WriteOptions& options);
  absl::StatusOr<ValueWriter::Written> WriteStream(uint64_t value_bytes, ValueSource& source);
  // A batch with references in place of its separated values, with those references, and with the value files, which
  // must be held until it is committed.
  struct Separated {
    std::string batch;
    std::vector<ValueReference> values;
    std::vector<ValueFileRef> files;
  };
  class ValueGroup;
  absl::StatusOr<Separated> Separate(std::string_view batch, const WriteOptions& options);
  // Called if the batch was certainly not committed.
  void TakeBack(const Separated& separated);
  // After a commit with an unknown outcome, keeps everything that the batch may refer to.
  void KeepIfInDoubt(const absl::Status& committed, const Separated& separated);
  // Commits a batch as users make them.
  absl::Status CommitAny(std::string_view batch, const WriteOptions& options);
  // Return the current view, for use beyond the call: of one family, or of all at the same moment.
  absl::StatusOr<HeldView> Hold(const Family& family) const EXCLUDES_STATE_LOCK;
  std::vector<std::pair<FamilyRef, HeldView>> HoldAll() const EXCLUDES_STATE_LOCK;
  std::shared_ptr<FamilyHandle> NewHandle(FamilyRef family) const {
    return std::make_shared<FamilyHandle>(core_, catalog_->identity().database_id, std::move(family));
  }
  // Creates a family with a new id, and records it in the manifest.
  absl::StatusOr<FamilyRef> AddFamily(ColumnFamilyId id, std::string_view name, const ColumnFamilyOptions& options)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(admin_mutex_);
  // Makes the system family (engine_system.cc). After this, batches may have the database's own rows.
  absl::Status AllowSystemRows() override ABSL_LOCKS_EXCLUDED(admin_mutex_);
  // Returns the current row, or nullopt if there is none of that name.
  absl::StatusOr<std::optional<std::string>> ReadSystemRow(SystemRowKind kind, std::string_view name);
  // Calls `look` with each row of that kind, as of one moment, in the order of their names.
  absl::Status VisitSystemRows(SystemRowKind kind,
                               const std::function<absl::Status(std::string_view name, std::string_view value)>& look);
  // Null until there is one.
  std::shared_ptr<FamilyHandle> SystemFamily() const EXCLUDES_STATE_LOCK;
  std::optional<std::string> PropertyOfState(const Family& family, std::string_view name) const REQUIRES_STATE_LOCK;
  std::string PrometheusPage() const EXCLUDES_STATE_LOCK;
  absl::Status CheckOpen() const { return core_->CheckOpen(); }
  absl::Status NotOpen() const { return core_->NotOpen(); }
  absl::Status CloseParts() ABSL_LOCKS_EXCLUDED(admin_mutex_);
  absl::Status CheckWritable() const override;
  absl::Status WritingError() const override;
  void JoinGroup();
  void LetGoInChild();
  absl::Status CheckSnapshot(const ReadOptions& options) const;
  // Drops expired named snapshots, if the database may be written.
  void DropExpired() ABSL_LOCKS_EXCLUDED(admin_mutex_);
  // Looks up some of a MultiGet's keys, and hands over their values. `first` keeps the first error.
  void GetGroup(const KeyGroup& group, std::span<const LookupKey> lookups, GroupLookup* lookup,
                std::span<PinnedValue> values, std::span<absl::Status> statuses,
                StatisticsImpl::ThreadCounters* counters, absl::Status* first);
  bool MayReadAs(const ReadOptions& options) const {
    return options.snapshot == nullptr || SnapshotList::OwnerOf(options.snapshot) == core_.get();
  }
  static bool IsOfPast(const ReadOptions& options) {
    return options.as_of_sequence.has_value() || options.as_of_time.has_value();
  }
  // A read as of a past moment, turned into one at a snapshot, which it holds (engine_history.cc).
  struct PastRead {
    std::shared_ptr<const Snapshot> snapshot = nullptr;
    ReadOptions options = {};
  };
  absl::StatusOr<PastRead> ReadPast(const Family& family, const ReadOptions& options);
  // The same for an iterator; it has the error if the options are refused.
  std::unique_ptr<Iterator> NewPastIterator(const ColumnFamily& handle, const Family& family,
                                            const ReadOptions& options);
  absl::StatusOr<SequenceNumber> MomentOf(const Family& family, const ReadOptions& options, SequenceNumber visible);
  absl::Status OutOfHistory(const Family& family, std::string_view moment) const;
  // If any family keeps its history, reads the database's time marks and begins to make new ones.
  absl::Status StartHistories();
  absl::Status ReadTimeMarks() ABSL_LOCKS_EXCLUDED(marks_mutex_);
  std::string HistoryText(const Family& family);
  HeldPoint HoldPoint(const Family& family);
  absl::StatusOr<HeldBytes> BytesHeldBySnapshots();
  absl::Status WriteOne(const ColumnFamily& family, ValueKind kind, std::string_view key, std::string_view value,
                        const WriteOptions& options);
  static bool FitsBatch(const WriteOptions& options) {
    return !(options.disable_wal && options.sync) && !options.ttl.has_value() && !options.expires_at.has_value();
  }
  // Returns the reason why the options do not fit.
  static absl::Status RefuseBatchOptions(const WriteOptions& options);
  absl::Status Commit(std::string_view batch, const WriteOptions& options);
  // The rest of Commit, for a caller that measures the call itself and has checked the options.
  absl::Status CommitInline(std::string_view batch, const WriteOptions& options);
  absl::Status CommitWatched(std::string_view batch, const WriteOptions& options);
  // For transactions, and for writes with conditions or in the presence of locks (engine_transaction.cc).
  DB& database() override { return *this; }
  absl::StatusOr<FamilyRef> FamilyToWrite(const ColumnFamily& family) override;
  absl::StatusOr<bool> CommitChecked(std::string_view batch, const WriteOptions& options, LookingCheck* check,
                                     bool locked) override;
  absl::Status CheckBatchSize(uint32_t entries, size_t bytes) const override;
  // Takes the locks of prepared transactions at an opening (engine_prepared.cc).
  absl::Status RetakeLocks();
  std::string PreparedText();
  // Null if there is none.
  FamilyRef FamilyOfId(ColumnFamilyId id) const EXCLUDES_STATE_LOCK;
  void BeginLocks() override { pipeline_->BeginLocks(); }
  void EndLocks() override { pipeline_->EndLocks(); }
  uint64_t hash_seed() const override { return catalog_->identity().hash_seed; }
  absl::StatusOr<bool> CommitBesideLocks(std::string_view batch, const WriteOptions& options, LookingCheck* check);
  // Makes one try, with the check. Nullopt: the check wants nothing to be written.
  absl::StatusOr<std::optional<CommitOutcome>> TryCommit(std::string_view batch, const WriteOptions& options,
                                                         LookingCheck* check, bool locked);
  absl::Status LockAll(std::string_view batch, uint64_t deadline_micros, LockTable::Owner* owner);
  // Counts reads for compactions that wait for readers.
  void TellOfReads(uint64_t reads) {
    if (background_ != nullptr && background_->scheduler()->AwaitsReaders()) [[unlikely]]
      HearReads(reads);
  }
  void TellOfIterator() {
    if (background_ != nullptr && background_->scheduler()->AwaitsIterators()) [[unlikely]]
      HearReads(JobScheduler::kReadsPerLook);
  }
  void HearReads(uint64_t reads);
  LookupKey MakeLookupKey(const Family& family, std::string_view key, SequenceNumber visible) const;
  // Counts a finished lookup, and hands its result to the caller.
  absl::Status HandOver(StatisticsImpl::ThreadCounters* counters, PointResult* result, PinnedValue* value);
  // What a read sees, and as of when. Valid only inside an epoch guard, or as long as the snapshot. If it has no view,
  // NoView returns the reason.
  struct ReadPoint {
    const ReadView* view;
    SequenceNumber visible;
  };
  ReadPoint PointOf(const Family& family, const ReadOptions& options) const {
    if (read_only_) [[unlikely]]
      return PointBesideWriter(family, options);
    const ReadView* const view = family.view();
    return {view, VisibleTo(options)};
  }
  ReadPoint PointBesideWriter(const Family& family, const ReadOptions& options) const;
  absl::Status NoView(const Family& family) const;
  void BeginReading(SequenceNumber last_sequence, Executor* executor) EXCLUDES_STATE_LOCK;
  SequenceNumber VisibleTo(const ReadOptions& options) const {
    return options.snapshot != nullptr ? SequenceNumber(options.snapshot->sequence()) : state_->VisibleSequence();
  }

  const std::shared_ptr<Core> core_;
  std::unique_ptr<EngineState> state_;
  std::unique_ptr<Executor> own_executor_;
  std::shared_ptr<TaskGroup> preparing_;
  std::unique_ptr<Catalog> catalog_;
  std::unique_ptr<WriteAheadLog> log_;
  std::unique_ptr<LiveReader> live_reader_;  // null if the database may be written
  std::unique_ptr<PeriodicTask> follower_;   // likewise
  // These are null if the database is read-only.
  std::unique_ptr<WriteGate> gate_;
  std::unique_ptr<Background> background_;
  std::unique_ptr<CommitPipeline> pipeline_;
  std::unique_ptr<RepeatedTask> flush_for_others_;  // for databases that share the memory
  std::shared_ptr<TransactionContext> transactions_;
  std::shared_ptr<FamilyHandle> default_handle_;
  Family* default_family_ = nullptr;
  bool had_system_rows_ = false;  // at the opening
  const bool read_only_;

  Mutex marks_mutex_;  // held while time marks are read

  // Families are created and dropped one at a time, and not at all once closing has begun.
  Mutex admin_mutex_;
  bool close_begun_ ABSL_GUARDED_BY(admin_mutex_) = false;
  bool close_done_ ABSL_GUARDED_BY(admin_mutex_) = false;
  CondVar close_ended_;
  absl::Status close_status_ ABSL_GUARDED_BY(admin_mutex_);
};

}  // namespace sepal
