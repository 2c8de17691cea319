#include "db/engine/transaction/transaction_context.h"

#include "absl/strings/str_format.h"

namespace sepal {

void TransactionContext::NoteBegin(uint64_t id, Locking locking) {
  const uint64_t now = core->world.clock->MonotonicMicros();
  MutexLock lock(&mutex_);
  open_[id] = {now, locking};
}

void TransactionContext::NoteEnd(uint64_t id) {
  MutexLock lock(&mutex_);
  open_.erase(id);
}

std::string TransactionContext::ListOpen() const {
  const std::map<uint64_t, size_t> held = locks.HeldByOwner();
  const uint64_t now = core->world.clock->MonotonicMicros();
  std::string text;
  MutexLock lock(&mutex_);
  for (const auto& [id, open] : open_) {
    const auto count = held.find(id);
    absl::StrAppendFormat(&text, "transaction %u: %s, open for %.3f s, %d locks\n", id,
                          open.locking == Locking::kPessimistic ? "pessimistic" : "optimistic",
                          static_cast<double>(now - open.began_micros) / 1e6, count != held.end() ? count->second : 0);
  }
  return text;
}

}  // namespace sepal
