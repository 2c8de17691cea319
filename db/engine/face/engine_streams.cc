// Values that are written and read in parts (sepal/value_stream.h).
#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "db/engine/face/engine.h"
#include "db/engine/read/separated_value.h"
#include "db/format/batch_format.h"
#include "util/base/status.h"
#include "util/base/unix_time.h"
#include "util/memory/block_buffer.h"

namespace sepal {

namespace {

// The part of a value that a stream has in memory.
constexpr uint64_t kStreamBytes = 8 * kValueChunkBytes;

// A buffer that is charged to the database's memory budget.
class StreamBuffer {
 public:
  StreamBuffer(MemoryBudget* budget, uint64_t bytes) : budget_(budget), buffer_(bytes) {
    budget_->Charge(MemoryPart::kLog, buffer_.charge());
    budget_->Relieve();
  }
  ~StreamBuffer() { budget_->Release(MemoryPart::kLog, buffer_.charge()); }
  StreamBuffer(const StreamBuffer&) = delete;
  StreamBuffer& operator=(const StreamBuffer&) = delete;
  std::span<char> first(uint64_t bytes) { return {buffer_.data(), std::min<uint64_t>(bytes, buffer_.size())}; }

 private:
  MemoryBudget* const budget_;
  BlockBuffer buffer_;
};

// A source that must deliver an exact number of bytes.
class ExactSource {
 public:
  ExactSource(ValueSource* source, uint64_t bytes) : source_(source), bytes_(bytes) {}
  uint64_t left() const { return bytes_ - taken_; }

  // Fills `buffer`, which must not be larger than what is left.
  absl::Status Fill(std::span<char> buffer) {
    while (!buffer.empty()) {
      ASSIGN_OR_RETURN(const size_t read, Read(buffer));
      if (read == 0) {
        return absl::InvalidArgumentError(
            absl::StrFormat("the source of a value ended after %u of %u bytes; nothing was written", taken_, bytes_));
      }
      taken_ += read;
      buffer = buffer.subspan(read);
    }
    return absl::OkStatus();
  }
  absl::Status ExpectEnd() {
    char more = 0;
    ASSIGN_OR_RETURN(const size_t read, Read({&more, 1}));
    if (read == 0) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrFormat("the source of a value of %u bytes has more than that; nothing was written", bytes_));
  }

 private:
  absl::StatusOr<size_t> Read(std::span<char> buffer) {
    ASSIGN_OR_RETURN(const size_t read, source_->Read(buffer));
    if (read <= buffer.size()) return read;
    return absl::InvalidArgumentError(absl::StrFormat(
        "the source of a value returned %u bytes for a buffer of %u; nothing was written", read, buffer.size()));
  }

  ValueSource* const source_;
  const uint64_t bytes_;
  uint64_t taken_ = 0;
};

}  // namespace

absl::Status Engine::PutStream(const ColumnFamily& family, std::string_view key, uint64_t value_bytes,
                               ValueSource& source, const WriteOptions& options) {
  RETURN_IF_ERROR(CheckWritable());
  ASSIGN_OR_RETURN(const FamilyRef resolved, ResolveShared(family));
  RETURN_IF_ERROR(CheckEntrySize(key.size(), value_bytes));
  // Before the source is read, which may take long.
  ASSIGN_OR_RETURN(const uint64_t expiry, ExpiryOf(*resolved, options));
  if (value_bytes < core_->tuning.streamed_from) {
    WriteOptions dated = WithoutExpiry(options);
    if (expiry != 0) dated.expires_at = TimeOfMillis(expiry);
    return PutGathered(family, key, value_bytes, source, dated);
  }
  if (expiry != 0) RETURN_IF_ERROR(AllowExpiry());
  const WriteOptions plain = WithoutExpiry(options);
  RETURN_IF_ERROR(AllowValues(value_bytes, plain));
  RETURN_IF_ERROR(catalog_->Enable(Feature::kValueFiles | Feature::kChunkedValues));
  absl::StatusOr<ValueWriter::Written> written = WriteStream(value_bytes, source);
  absl::Status status = written.status();
  if (written.ok()) {
    Separated separated{.batch = std::string(kBatchHeaderBytes, '\0'), .values = {}, .files = {}};
    separated.files.push_back(std::move(written->file));
    AppendReferringPut(&separated.batch, resolved->id, key, expiry, EncodeValueReference(written->reference));
    const WatchedCall call(&core_->calls, {.name = "write", .histogram = Histogram::kWriteMicros, .rare = options.sync},
                           [&] { return CallWatch::Subject{.column_family = resolved->name, .key = key}; });
    status = CommitWatched(separated.batch, plain);
    KeepIfInDoubt(status, separated);
  }
  // The file of a value that was not committed is removed.
  if (!status.ok() && core_->deleter->HasWork()) core_->AskToRemoveUnusedFiles();
  return status;
}

absl::Status Engine::PutGathered(const ColumnFamily& family, std::string_view key, uint64_t value_bytes,
                                 ValueSource& source, const WriteOptions& options) {
  StreamBuffer buffer(&core_->budget, value_bytes);
  const std::span<char> value = buffer.first(value_bytes);
  ExactSource exact(&source, value_bytes);
  RETURN_IF_ERROR(exact.Fill(value));
  RETURN_IF_ERROR(exact.ExpectEnd());
  return Put(family, key, {value.data(), value.size()}, options);
}

absl::StatusOr<ValueWriter::Written> Engine::WriteStream(uint64_t value_bytes, ValueSource& source) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ValueStreamWriter> stream, core_->values.BeginStream(value_bytes));
  StreamBuffer buffer(&core_->budget, std::min(value_bytes, kStreamBytes));
  ExactSource exact(&source, value_bytes);
  while (exact.left() > 0) {
    const std::span<char> part = buffer.first(exact.left());
    RETURN_IF_ERROR(exact.Fill(part));
    RETURN_IF_ERROR(CheckWritable());
    RETURN_IF_ERROR(stream->Append({part.data(), part.size()}));
  }
  RETURN_IF_ERROR(exact.ExpectEnd());
  core_->statistics.Add(Ticker::kValueBytes, value_bytes);
  return stream->Finish();
}

absl::StatusOr<ValuePart> Engine::ReadValue(const ColumnFamily& family, std::string_view key, uint64_t offset,
                                            std::span<char> buffer, const ReadOptions& options) {
  ASSIGN_OR_RETURN(const Family* const resolved, Resolve(family));
  RETURN_IF_ERROR(CheckSnapshot(options));
  if (IsOfPast(options)) [[unlikely]] {
    ASSIGN_OR_RETURN(const PastRead past, ReadPast(*resolved, options));
    return ReadValue(family, key, offset, buffer, past.options);
  }
  StatisticsImpl::ThreadCounters counters = core_->statistics.ForThisThread();
  TellOfReads(1);
  const WatchedCall call(&core_->calls, &counters, {.name = "get", .histogram = Histogram::kGetMicros},
                         [&] { return CallWatch::Subject{.column_family = resolved->name, .key = key}; });
  const EpochDomain::Guard guard(&core_->epochs);
  const ReadPoint point = PointOf(*resolved, options);
  if (point.view == nullptr) return NoView(*resolved);
  // A filter needs the value.
  const TableLookupOptions lookup{.fill_cache = options.fill_cache,
                                  .keeps_reference = resolved->filter_history.now() == nullptr};
  PointResult result;
  RETURN_IF_ERROR(LookUp(*resolved, *point.view, MakeLookupKey(*resolved, key, point.visible), lookup, core_.get(),
                         &counters, &result));
  counters.Add(Ticker::kGets);
  if (result.memtable != nullptr) counters.Add(Ticker::kMemtableHits);
  const bool refers = result.kind == PointResult::Kind::kReference;
  if (!refers && result.kind != PointResult::Kind::kFound) return absl::Status(absl::StatusCode::kNotFound, {});
  counters.Add(Ticker::kGetHits);
  if (refers) return ReadPartOf(core_.get(), key, result.value, offset, buffer, options.fill_cache);
  const std::string_view rest = result.value.substr(std::min<uint64_t>(offset, result.value.size()));
  const size_t copied = std::min(rest.size(), buffer.size());
  if (copied > 0) std::memcpy(buffer.data(), rest.data(), copied);
  return ValuePart{copied, result.value.size()};
}

}  // namespace sepal
