// The objects of files that were removed, which go in the background.
#include <algorithm>
#include <cerrno>
#include <optional>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "rados/client.h"
#include "rados/operations.h"
#include "sepal/env.h"
#include "util/base/status.h"

namespace sepal::rados {

// Objects that are removed at once.
constexpr uint64_t kAtOnce = 8;
constexpr uint64_t kLookAgainMicros = 1'000'000;

absl::Status Client::RemoveObjects(rados_ioctx_t io, const Entry& entry, uint64_t first, uint64_t end) {
  const uint64_t window = entry.size >= 0 ? 0 : InFlightWrites(entry.object_bytes) + 1;
  uint64_t missing = 0;  // in a row
  for (uint64_t number = first; number < end || missing < window;) {
    std::vector<Pending> all;
    for (uint64_t i = 0; i < kAtOnce && (window > 0 || number < end); ++i, ++number) {
      Pending& pending = all.emplace_back();
      ++counts.removals;
      const int code = rados_aio_remove(io, ObjectName(entry.id, number).c_str(), pending.get());
      if (code < 0) pending.Failed(code);
    }
    for (Pending& pending : all) {
      const int code = pending.Await();
      if (code < 0 && code != -ENOENT) return Note(code, entry.id);
      missing = code == -ENOENT ? missing + 1 : 0;
    }
  }
  return absl::OkStatus();
}

// Returns whether it was the last. Another that was taken back before, by who died meanwhile, is no error.
absl::StatusOr<bool> Client::DropReference(rados_ioctx_t io, const Entry& entry) {
  const std::string object = RefsObject(entry.id);
  while (true) {
    ++counts.index_reads;
    absl::StatusOr<Omap> found = ReadKeys(io, object, {"c", entry.ref});
    if (absl::IsNotFound(found.status())) return true;
    RETURN_IF_ERROR(found.status());
    uint64_t count = 0;
    if (!absl::SimpleAtoi((*found)["c"], &count)) {
      return absl::DataLossError(absl::StrCat(object, ": its count of references is damaged"));
    }
    if (count == 0 || !found->contains(entry.ref)) return count == 0;
    WriteOp op;
    op.MustExist();
    op.Compare("c", (*found)["c"]);
    op.Compare(entry.ref, (*found)[entry.ref]);
    op.Set({{"c", absl::StrCat(count - 1)}});
    op.Unset({entry.ref});
    ++counts.index_writes;
    const int code = op.Run(io, object);
    if (code == -ECANCELED) continue;
    RETURN_IF_ERROR(Note(code, object));
    return count == 1;
  }
}

absl::Status Client::Remove(const Burials::Dead& dead) {
  ASSIGN_OR_RETURN(const rados_ioctx_t io, IoFor(dead.space));
  ASSIGN_OR_RETURN(const rados_ioctx_t home, IoFor(dead.entry.home.empty() ? dead.space : dead.entry.home));
  ASSIGN_OR_RETURN(const rados_ioctx_t data,
                   IoFor(dead.entry.home.empty() ? dead.space : dead.entry.home, dead.entry.pool));
  bool last = true;
  if (!dead.entry.ref.empty()) {
    ASSIGN_OR_RETURN(last, DropReference(home, dead.entry));
  }
  if (last) {
    RETURN_IF_ERROR(RemoveObjects(data, dead.entry, 0, dead.objects));
    if (!dead.entry.ref.empty()) {
      const int code = rados_remove(home, RefsObject(dead.entry.id).c_str());
      if (code < 0 && code != -ENOENT) return Note(code, dead.entry.id);
    }
  }
  WriteOp op;
  op.MustExist();
  op.Unset({DeadKey(dead.entry)});
  ++counts.index_writes;
  const int code = op.Run(io, kIndexObject);
  return code == -ENOENT ? absl::OkStatus() : Note(code, dead.space);
}

void Client::Bury(const std::string& space, const Entry& entry, uint64_t objects) {
  {
    MutexLock lock(&mutex_);
    dead_.Add({space, entry, objects}, Clock::System()->MonotonicMicros());
  }
  changed_.NotifyAll();
}

void Client::RunReaper() {
  while (true) {
    std::optional<Burials::Dead> next;
    {
      MutexLock lock(&mutex_);
      while (true) {
        const uint64_t now = Clock::System()->MonotonicMicros();
        next = dead_.Take(now, FreeBytes(), ending_ || hurried_ > 0);
        if (next.has_value()) break;
        if (ending_) return;
        // The room may become less meanwhile.
        if (dead_.empty()) {
          changed_.Wait(&mutex_);
        } else {
          changed_.WaitFor(&mutex_, std::min(dead_.MicrosLeft(now), kLookAgainMicros));
        }
      }
      // What this client leaves, the next holder of the lock removes.
      if (!lost_.ok()) continue;
      ++burying_;
    }
    const absl::Status status = Remove(*next);
    {
      MutexLock lock(&mutex_);
      --burying_;
      KeepFirst(&burial_failure_, status);
    }
    changed_.NotifyAll();
  }
}

absl::Status Client::AwaitBurials() {
  MutexLock lock(&mutex_);
  ++hurried_;
  changed_.NotifyAll();
  while ((!dead_.empty() || burying_ > 0) && lost_.ok()) changed_.WaitFor(&mutex_, 100'000);
  --hurried_;
  RETURN_IF_ERROR(lost_);
  return burial_failure_;
}

}  // namespace sepal::rados
