#include "db/engine/face/engine.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_format.h"
#include "db/engine/catalog/manifest_families.h"
#include "db/engine/core/check_options.h"
#include "db/format/batch_format.h"
#include "db/format/range_end.h"
#include "util/base/status.h"

namespace sepal {

Engine::Engine(DatabaseParts parts)
    : core_(std::move(parts.core)),
      state_(std::move(parts.state)),
      own_executor_(std::move(parts.own_executor)),
      preparing_(std::move(parts.preparing)),
      catalog_(std::move(parts.catalog)),
      log_(std::move(parts.log)),
      read_only_(log_ == nullptr) {
  core_->StartKeepers();
  state_->visible.store(parts.last_sequence.value(), std::memory_order_release);
  std::vector<FamilyRef> families;
  {
    StateLock lock(state_.get());
    families = state_->Families();
  }
  default_family_ = families.front().get();
  had_system_rows_ = families.back()->id == kSystemFamilyId;
  default_handle_ = NewHandle(families.front());
  default_column_family_ = default_handle_.get();
  if (read_only_) {
    BeginReading(parts.last_sequence, parts.executor);
    return;
  }
  gate_ = std::make_unique<WriteGate>(state_.get(), [this] { return pipeline_->SwitchAll([](SequenceNumber) {}); });
  background_ = std::make_unique<Background>(state_.get(), gate_.get(), catalog_.get(), log_.get(), parts.executor);
  pipeline_ = std::make_unique<CommitPipeline>(state_.get(), gate_.get(), catalog_.get(), background_->scheduler(),
                                               log_.get(), parts.last_sequence);
  for (FamilyRef& family : families) pipeline_->AddFamily(std::move(family));
  pipeline_->BeginPreparing();
  JoinGroup();
  transactions_ = std::make_shared<TransactionContext>(core_, static_cast<TransactionHost*>(this), default_handle_);
  {
    StateLock lock(state_.get());
    background_->scheduler()->Schedule();
  }
  background_->scrubber()->Start();
}

void Engine::JoinGroup() {
  MemtableGroup::Member* const member = core_->member.get();
  if (member == nullptr) return;
  flush_for_others_ = std::make_unique<RepeatedTask>(preparing_.get(), [this, member] {
    member->Flushed(/*possible=*/pipeline_->SwitchAll([](SequenceNumber) {}).ok());
  });
  member->FlushBy([this] { flush_for_others_->Ask(); });
}

Engine::~Engine() {
  if (core_->Forked()) {
    LetGoInChild();
  } else {
    Close().IgnoreError();
    if (transactions_ != nullptr) transactions_->LetGo();
    own_executor_.reset();
    core_->ReleaseKeepers();
  }
}

// The threads, jobs and tasks belong to the parent, and missing threads may hold locks. The directory's lock is shared
// as long as the child has its file open.
void Engine::LetGoInChild() {
  state_->directory_lock.reset();
  LeakAfterFork(std::tuple(std::move(flush_for_others_), std::move(gate_), std::move(background_), std::move(pipeline_),
                           std::move(own_executor_), std::move(preparing_), std::move(catalog_), std::move(log_),
                           std::move(live_reader_), std::move(follower_), std::move(default_handle_), std::move(state_),
                           std::move(transactions_), core_));
}

// --- checks of calls ---

absl::Status Engine::CheckWritable() const {
  RETURN_IF_ERROR(CheckOpen());
  if (!read_only_) [[likely]]
    return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrFormat("the database in %s was opened read-only; open it without read_only to write", core_->path));
}

absl::Status Engine::WritingError() const {
  return state_->stopped.load(std::memory_order_acquire) ? state_->Error() : absl::OkStatus();
}

Family* Engine::FindByHandle(const ColumnFamily& family) const {
  const auto& handle = static_cast<const FamilyHandle&>(family);
  if (handle.core() != core_.get() || handle.family()->dropped()) return nullptr;
  return handle.family().get();
}

// A reason to refuse a call never goes away, so it can be determined later.
absl::Status Engine::Refusal(const ColumnFamily& family) const {
  RETURN_IF_ERROR(CheckOpen());
  const auto& handle = static_cast<const FamilyHandle&>(family);
  if (handle.core() != core_.get()) return handle.IsOfAnother();
  return handle.family()->CheckThere();
}

absl::StatusOr<Family*> Engine::Resolve(const ColumnFamily& family) const {
  Family* const found = Find(family);
  if (found == nullptr) return Refusal(family);
  return found;
}

absl::StatusOr<FamilyRef> Engine::ResolveShared(const ColumnFamily& family) const {
  RETURN_IF_ERROR(Resolve(family).status());
  return static_cast<const FamilyHandle&>(family).family();
}

// --- writes ---

absl::Status Engine::RefuseBatchOptions(const WriteOptions& options) {
  if (options.disable_wal && options.sync) {
    return absl::InvalidArgumentError(
        "disable_wal cannot be combined with sync; call Flush to make unlogged writes durable");
  }
  return absl::InvalidArgumentError(
      "ttl and expires_at are for DB::Put alone: in a batch, give the time to WriteBatch::Put; nothing was written");
}

ABSL_ATTRIBUTE_ALWAYS_INLINE inline absl::Status Engine::CommitInline(std::string_view batch,
                                                                      const WriteOptions& options) {
  WriteGate::Pass pass(gate_.get());
  RETURN_IF_ERROR(pass.Enter(batch, options.no_slowdown));
  absl::Status status = pipeline_->Write(batch, options, &pass);
  if (status.ok()) [[likely]]
    return status;
  if (!absl::IsAborted(status)) return status;
  pass.End();
  return CommitBesideLocks(batch, options, nullptr).status();
}

absl::Status Engine::CommitWatched(std::string_view batch, const WriteOptions& options) {
  return CommitInline(batch, options);
}

absl::Status Engine::Commit(std::string_view batch, const WriteOptions& options) {
  if (!FitsBatch(options)) [[unlikely]]
    return RefuseBatchOptions(options);
  const WatchedCall call(&core_->calls, {.name = "write", .histogram = Histogram::kWriteMicros, .rare = options.sync},
                         [&] { return CallWatch::Subject{.batch = batch}; });
  return CommitInline(batch, options);
}

namespace {

// The largest buffer that a thread keeps for its writes.
constexpr size_t kKeptBytes = size_t{1} << 20;

// An empty batch whose memory is reused by the thread's next write, so that a write allocates nothing. It is taken out
// while in use, because a listener or a user's file system may write to another database meanwhile.
class KeptBatch {
 public:
  KeptBatch() : kept_(OfThread()), bytes_(std::move(kept_)) { bytes_.assign(kBatchHeaderBytes, '\0'); }
  ~KeptBatch() {
    if (bytes_.capacity() <= kKeptBytes) kept_ = std::move(bytes_);
  }
  KeptBatch(const KeptBatch&) = delete;
  KeptBatch& operator=(const KeptBatch&) = delete;
  std::string* bytes() { return &bytes_; }

 private:
  static std::string& OfThread() {
    static thread_local std::string kept;
    return kept;
  }

  std::string& kept_;
  std::string bytes_;
};

}  // namespace

absl::Status Engine::WriteOne(const ColumnFamily& family, ValueKind kind, std::string_view key, std::string_view value,
                              const WriteOptions& options) {
  RETURN_IF_ERROR(CheckWritable());
  ASSIGN_OR_RETURN(const Family* resolved, Resolve(family));
  // Checked before anything of that size is copied.
  RETURN_IF_ERROR(CheckEntrySize(key.size(), value.size()));
  if (value.size() >= core_->values.least_separated() && Separates(*resolved, kind, value)) [[unlikely]]
    return PutSeparated(*resolved, key, value, /*expiry_millis=*/0, options);
  if (value.size() > kKeptBytes) [[unlikely]]
    RETURN_IF_ERROR(gate_->CheckSize(1, value.size()));
  KeptBatch batch;
  AppendBatchEntry(batch.bytes(), kind, resolved->id, key, value);
  return Commit(*batch.bytes(), options);
}

absl::Status Engine::WriteExpiring(const Family& family, std::string_view key, std::string_view value,
                                   uint64_t expiry_millis, const WriteOptions& options) {
  if (value.size() >= core_->values.least_separated() && Separates(family, ValueKind::kExpiringPut, value)) {
    return PutSeparated(family, key, value, expiry_millis, options);
  }
  if (value.size() > kKeptBytes) [[unlikely]]
    RETURN_IF_ERROR(gate_->CheckSize(1, value.size()));
  KeptBatch batch;
  AppendExpiringPut(batch.bytes(), family.id, key, expiry_millis, value);
  return Commit(*batch.bytes(), options);
}

absl::Status Engine::Put(const ColumnFamily& family, std::string_view key, std::string_view value,
                         const WriteOptions& options) {
  if (options.ttl.has_value() || options.expires_at.has_value() || core_->expiry.any_ttl()) [[unlikely]]
    return PutExpiring(family, key, value, options);
  return WriteOne(family, ValueKind::kPut, key, value, options);
}

absl::Status Engine::Delete(const ColumnFamily& family, std::string_view key, const WriteOptions& options) {
  return WriteOne(family, ValueKind::kDelete, key, {}, options);
}

absl::Status Engine::SingleDelete(const ColumnFamily& family, std::string_view key, const WriteOptions& options) {
  return WriteOne(family, ValueKind::kSingleDelete, key, {}, options);
}

absl::Status Engine::Merge(const ColumnFamily& family, std::string_view key, std::string_view operand,
                           const WriteOptions& options) {
  return WriteOne(family, ValueKind::kMerge, key, operand, options);
}

absl::Status Engine::DeleteRange(const ColumnFamily& family, std::string_view begin,
                                 std::optional<std::string_view> end, const WriteOptions& options) {
  return WriteOne(family, ValueKind::kRangeDelete, begin, EncodeRangeEnd(end), options);
}

absl::Status Engine::SetFilterEpoch(const ColumnFamily& family, std::string_view epoch) {
  RETURN_IF_ERROR(CheckWritable());
  ASSIGN_OR_RETURN(const FamilyRef resolved, ResolveShared(family));
  if (epoch.size() > kMaxFilterEpochBytes) {
    return absl::InvalidArgumentError(absl::StrFormat("an epoch of %d bytes is too long: it must have at most %d",
                                                      epoch.size(), kMaxFilterEpochBytes));
  }
  if (resolved->options.compaction_filter == nullptr) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "column family \"%s\" has no filter: open it with ColumnFamilyOptions::compaction_filter", resolved->name));
  }
  return pipeline_->SetFilterEpoch(resolved, epoch);
}

absl::Status Engine::Write(const WriteBatch& batch, const WriteOptions& options) {
  RETURN_IF_ERROR(CheckWritable());
  RETURN_IF_ERROR(BatchOrigin::Check(batch, catalog_->identity().database_id, core_->path));
  if (BatchOrigin::Expires(batch)) [[unlikely]]
    RETURN_IF_ERROR(AdmitExpiry(batch));
  if (core_->expiry.any_ttl()) [[unlikely]] {
    ASSIGN_OR_RETURN(const std::string stamped, StampExpiry(batch.bytes()));
    return CommitAny(stamped, options);
  }
  if (batch.bytes().size() < core_->values.least_separated()) [[likely]]
    return Commit(batch.bytes(), options);
  return CommitAny(batch.bytes(), options);
}

absl::Status Engine::Sync() {
  RETURN_IF_ERROR(CheckWritable());
  const WatchedCall call(&core_->calls, {.name = "sync"}, [] { return CallWatch::Subject(); });
  return pipeline_->Sync();
}

// --- flushes and compactions ---

absl::Status Engine::Flush(const ColumnFamily& family, const FlushOptions& options) {
  RETURN_IF_ERROR(CheckWritable());
  ASSIGN_OR_RETURN(const FamilyRef resolved, ResolveShared(family));
  if (options.wait) pipeline_->AwaitNextLog();
  RETURN_IF_ERROR(pipeline_->SwitchMemtable(resolved));
  return options.wait ? background_->scheduler()->WaitForFlush(resolved) : absl::OkStatus();
}

absl::Status Engine::CompactRange(const ColumnFamily& family, const CompactRangeOptions& options) {
  RETURN_IF_ERROR(CheckWritable());
  ASSIGN_OR_RETURN(const FamilyRef resolved, ResolveShared(family));
  if (options.begin.has_value() && options.end.has_value() && resolved->order.Less(*options.end, *options.begin)) {
    return absl::InvalidArgumentError("the range to compact ends before it begins");
  }
  pipeline_->AwaitNextLog();
  RETURN_IF_ERROR(pipeline_->SwitchMemtable(resolved));
  RETURN_IF_ERROR(background_->scheduler()->WaitForFlush(resolved));
  return background_->CompactRange(resolved, options);
}

absl::Status Engine::WaitForBackgroundWork() {
  RETURN_IF_ERROR(CheckWritable());
  RETURN_IF_ERROR(background_->scheduler()->WaitUntilIdle());
  background_->DropTables();
  return absl::OkStatus();
}

absl::Status Engine::PauseBackgroundWork() {
  RETURN_IF_ERROR(CheckWritable());
  background_->Pause();
  return absl::OkStatus();
}

absl::Status Engine::ContinueBackgroundWork() {
  RETURN_IF_ERROR(CheckWritable());
  return background_->Continue();
}

// --- column families ---

absl::StatusOr<std::shared_ptr<ColumnFamily>> Engine::CreateColumnFamily(std::string_view name,
                                                                         const ColumnFamilyOptions& options) {
  RETURN_IF_ERROR(CheckWritable());
  if (name.empty()) return absl::InvalidArgumentError("a column family needs a name");
  RETURN_IF_ERROR(CheckFamilyOptions(options));
  if (options.history.value_or(std::chrono::milliseconds(0)).count() > 0) RETURN_IF_ERROR(AllowSystemRows());
  MutexLock admin_lock(&admin_mutex_);
  if (close_begun_) return NotOpen();
  if (FindColumnFamily(name).ok()) {
    return absl::AlreadyExistsError(absl::StrFormat("column family \"%s\" already exists", name));
  }
  ASSIGN_OR_RETURN(const ColumnFamilyId id, catalog_->NewFamilyId());
  ASSIGN_OR_RETURN(FamilyRef family, AddFamily(id, name, options));
  return NewHandle(std::move(family));
}

absl::StatusOr<FamilyRef> Engine::AddFamily(ColumnFamilyId id, std::string_view name,
                                            const ColumnFamilyOptions& options) {
  const SequenceNumber now = state_->VisibleSequence();
  const FamilySchema schema = MakeSchema(options, {.family = id}, now);
  auto family = std::make_shared<Family>(id, std::string(name), options, PolicyFor(options, core_->tuning), schema,
                                         &core_->time_marks);
  {
    StateLock lock(state_.get());
    family->Open(core_->NewMemTable(family->order, catalog_->identity().hash_seed, state_->families.size() + 1),
                 std::make_shared<const Version>(family->order), SequenceNumber(), &core_->epochs);
  }
  if (options.ttl.count() > 0) core_->expiry.NoteTtl();
  core_->values.NoteFamily(options.separate_from);
  if (family->history.on()) core_->time_marks.Begin(now);
  pipeline_->AddFamily(family);  // done first, as a thread that finds the family may write to it
  VersionEdit edit = DescribeFamily(*family, schema, SequenceNumber(0));
  edit.flushed_through.clear();  // a new family has flushed nothing
  const absl::Status created = catalog_->Apply(std::move(edit), nullptr, [&] {
    database_mutex.AssertHeld();
    family->BeginLog(log_->Live().back().number, &state_->log_pins);
    state_->families[family->id.value()] = family;
  });
  if (!created.ok()) {
    pipeline_->RemoveFamily(family->id);
    StateLock lock(state_.get());
    family->BeginLog(FileNumber(), &state_->log_pins);
    return created;
  }
  return family;
}

absl::Status Engine::DropColumnFamily(const ColumnFamily& handle) {
  RETURN_IF_ERROR(CheckWritable());
  ASSIGN_OR_RETURN(const FamilyRef family, ResolveShared(handle));
  if (family.get() == default_family_) {
    return absl::InvalidArgumentError("the default column family cannot be dropped");
  }
  RETURN_IF_ERROR(transactions_->prepared.BeginDrop(family->id, family->name));
  const absl::Cleanup end_drop = [&] { transactions_->prepared.EndDrop(family->id); };
  // Earlier writes, such as a copy of the family's contents, must be durable before the drop is.
  RETURN_IF_ERROR(pipeline_->Sync());
  MutexLock admin_lock(&admin_mutex_);
  if (close_begun_) return NotOpen();
  RETURN_IF_ERROR(family->CheckThere());  // another thread may have dropped it first
  VersionEdit edit;
  edit.dropped_families.push_back(family->id);
  // Until the edit is durable, the family exists for writers, flushes, and the next manifest.
  RETURN_IF_ERROR(catalog_->Apply(std::move(edit), nullptr, [&] {
    database_mutex.AssertHeld();
    state_->families.erase(family->id.value());
    state_->value_space.RemoveAll(*family->version());
    family->Drop(&state_->log_pins, &core_->epochs);
  }));
  pipeline_->RemoveFamily(family->id);
  core_->AskToRemoveUnusedFiles();
  // The family no longer counts when writers are slowed.
  StateLock lock(state_.get());
  background_->scheduler()->Schedule();
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<ColumnFamily>> Engine::FindColumnFamily(std::string_view name) {
  RETURN_IF_ERROR(CheckOpen());
  StateLock lock(state_.get());
  for (const auto& [id, family] : state_->families) {
    if (family->name == name && family->id != kSystemFamilyId) return NewHandle(family);
  }
  return absl::NotFoundError(absl::StrFormat("there is no column family \"%s\" in %s", name, core_->path));
}

std::vector<std::string> Engine::ColumnFamilyNames() {
  if (core_->Forked()) return {};
  StateLock lock(state_.get());
  std::vector<std::string> names;
  for (const auto& [id, family] : state_->families) {
    if (family->id != kSystemFamilyId) names.push_back(family->name);
  }
  return names;
}

// --- the end ---

// No lock is held while waiting for jobs and syncs.
absl::Status Engine::Close() {
  if (core_->Forked()) return NotOpen();
  {
    MutexLock admin_lock(&admin_mutex_);
    if (close_begun_) {
      while (!close_done_) close_ended_.Wait(&admin_mutex_);
      return close_status_;
    }
    close_begun_ = true;
  }
  if (read_only_) follower_->Stop();
  const absl::Status status = read_only_ ? absl::OkStatus() : CloseParts();
  core_->open_mark.Close();
  state_->directory_lock.reset();
  MutexLock admin_lock(&admin_mutex_);
  close_status_ = status;
  close_done_ = true;
  close_ended_.NotifyAll();
  return status;
}

absl::Status Engine::CloseParts() {
  transactions_->locks.Close();
  pipeline_->Close();
  if (core_->member != nullptr) core_->member->FlushBy(nullptr);
  background_->Close();
  preparing_->Close();
  // After an error the directory may belong to another process.
  if (state_->Error().ok()) log_->DiscardNextFile();
  absl::Status status = background_->FlushUnlogged();
  KeepFirst(&status, state_->Error());
  absl::StatusOr<LogEnd> end = log_->Close();
  KeepFirst(&status, end.status());
  if (status.ok()) {
    VersionEdit edit;
    edit.closed_log = ClosedLog{.number = end->number, .length_bytes = end->length_bytes};
    KeepFirst(&status, catalog_->Apply(std::move(edit), nullptr, nullptr));
    if (status.ok()) log_->RemoveRing();
  }
  KeepFirst(&status, catalog_->Close());
  // What readers used when the last job ended may be free now.
  core_->epochs.Collect();
  // After an error the directory may belong to another process.
  if (status.ok()) core_->deleter->Run();
  core_->deleter->Stop();
  core_->values.fresh().EndFile();
  core_->values.moved().EndFile();
  core_->info_log.Write("closed: %s", status.ToString());
  return status;
}

}  // namespace sepal
