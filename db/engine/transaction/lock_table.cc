#include "db/engine/transaction/lock_table.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "db/decide/transaction/deadlock.h"
#include "db/engine/transaction/transaction_memory.h"
#include "util/base/check.h"
#include "util/base/status.h"
#include "util/base/strings.h"

namespace sepal {

namespace {

// About how much memory a lock takes besides its key: the lock, and its places in the table and in its owner's list.
constexpr size_t kBytesOfLock = 152;

bool Conflict(LockMode a, LockMode b) { return a == LockMode::kExclusive || b == LockMode::kExclusive; }

bool Overlap(const KeyOrder& order, const ConflictRange& a, const ConflictRange& b) {
  const auto is_behind = [&](const ConflictRange& x, const ConflictRange& y) {
    return x.begin.has_value() && IsBehind(order, *x.begin, y);
  };
  return !is_behind(a, b) && !is_behind(b, a);
}

bool IsIn(const KeyOrder& order, std::string_view key, const ConflictRange& range) {
  return !IsBefore(order, key, range) && !IsBehind(order, key, range);
}

absl::Status Closed() { return absl::FailedPreconditionError("the database is closed"); }

std::string Describe(std::string_view key) { return absl::StrFormat("key \"%s\"", Printable(key)); }

}  // namespace

LockTable::~LockTable() { SEPAL_CHECK(keys_.empty() && ranges_.empty() && line_.empty()); }

size_t LockTable::size() const {
  MutexLock lock(&mutex_);
  return keys_.size() + ranges_.size();
}

std::map<uint64_t, size_t> LockTable::HeldByOwner() const {
  std::map<uint64_t, size_t> held;
  MutexLock lock(&mutex_);
  for (const std::unique_ptr<Lock>& key : keys_) {
    for (const Holder& holder : key->holders) ++held[holder.owner->id()];
  }
  for (const RangeLock& range : ranges_) ++held[range.owner->id()];
  return held;
}

std::vector<HeldLock> LockTable::HeldBy(const Owner& owner) const {
  std::vector<HeldLock> held;
  MutexLock lock(&mutex_);
  for (const Lock* const key : owner.keys_) {
    const auto holder = std::find_if(key->holders.begin(), key->holders.end(),
                                     [&](const Holder& each) { return each.owner == &owner; });
    held.push_back({.family = key->family, .exclusive = holder->mode == LockMode::kExclusive, .begin = key->key});
  }
  for (const RangeLock& each : ranges_) {
    if (each.owner != &owner) continue;
    held.push_back({.family = each.family,
                    .exclusive = each.mode == LockMode::kExclusive,
                    .range = true,
                    .begin = each.range.begin,
                    .end = each.range.end,
                    .end_inclusive = each.range.end.has_value() && each.range.end_inclusive});
  }
  std::sort(held.begin(), held.end());
  return held;
}

void LockTable::Charge(Owner* owner, size_t bytes) {
  owner->charged_bytes_ += bytes;
  budget_->Charge(MemoryPart::kTransactions, bytes);
}

absl::Status LockTable::LockKey(Owner* owner, ColumnFamilyId family, const KeyOrder& order, std::string_view key,
                                LockMode mode, std::chrono::milliseconds timeout) {
  if (!order.hashable()) {
    // Different bytes may be the same key, which only the order can tell.
    return LockRange(owner, family, order, {.begin = std::string(key), .end = std::string(key)}, timeout, mode);
  }
  MutexLock guard(&mutex_);
  auto it = keys_.find(Name(family.value(), key));
  if (it == keys_.end()) it = keys_.insert(std::make_unique<Lock>(Lock{family, std::string(key)})).first;
  Request request{.owner = owner, .family = family, .order = order, .mode = mode, .key = key, .lock = it->get()};
  ++request.lock->requests;
  const absl::Status status = LockOne(&request, timeout);
  --request.lock->requests;
  RemoveIfUnused(request.lock);
  return status;
}

absl::Status LockTable::LockRange(Owner* owner, ColumnFamilyId family, const KeyOrder& order, ConflictRange range,
                                  std::chrono::milliseconds timeout, LockMode mode) {
  MutexLock guard(&mutex_);
  Request request{.owner = owner, .family = family, .order = order, .mode = mode, .key = {}, .range = &range};
  return LockOne(&request, timeout);
}

void LockTable::Retake(Owner* owner, const KeyOrder& order, const HeldLock& held) {
  const LockMode mode = held.exclusive ? LockMode::kExclusive : LockMode::kShared;
  ConflictRange range{.begin = held.begin, .end = held.end, .end_inclusive = held.end_inclusive};
  if (!held.range) range = {.begin = held.begin, .end = held.begin};
  MutexLock guard(&mutex_);
  Request request{.owner = owner, .family = held.family, .order = order, .mode = mode, .key = {}, .range = &range};
  if (!held.range && order.hashable()) {
    auto it = keys_.find(Name(held.family.value(), *held.begin));
    if (it == keys_.end()) it = keys_.insert(std::make_unique<Lock>(Lock{held.family, *held.begin})).first;
    request.key = *held.begin;
    request.lock = it->get();
    request.range = nullptr;
  }
  if (Holds(request)) {
    if (request.lock != nullptr) RemoveIfUnused(request.lock);  // a range that it holds contains the key
    return;
  }
  Grant(&request);
  Charge(owner, BytesOf(request));
}

size_t LockTable::BytesOf(const Request& request) {
  if (request.range == nullptr) return kBytesOfLock + request.key.size();
  return kBytesOfLock + request.range->begin.value_or("").size() + request.range->end.value_or("").size();
}

absl::Status LockTable::LockOne(Request* request, std::chrono::milliseconds timeout) {
  if (Holds(*request)) return absl::OkStatus();
  const size_t bytes = BytesOf(*request);
  if (request->owner->kind_ == Owner::Kind::kTransaction) RETURN_IF_ERROR(CheckTransactionMemory(*budget_, bytes));
  if (IsBlocked(*request)) RETURN_IF_ERROR(Await(request, timeout));
  if (request->state == Request::State::kWaiting) Grant(request);
  Charge(request->owner, bytes);
  return absl::OkStatus();
}

bool LockTable::Overlaps(const Request& request, const Lock& lock) {
  if (request.lock != nullptr) return request.lock == &lock;
  return request.family == lock.family && IsIn(request.order, lock.key, *request.range);
}

bool LockTable::Overlaps(const Request& request, const RangeLock& held) {
  if (request.family != held.family) return false;
  return request.range == nullptr ? IsIn(request.order, request.key, held.range)
                                  : Overlap(request.order, *request.range, held.range);
}

bool LockTable::Overlaps(const Request& request, const Request& earlier) {
  if (request.family != earlier.family) return false;
  if (earlier.lock != nullptr) return Overlaps(request, *earlier.lock);
  return request.range == nullptr ? IsIn(request.order, request.key, *earlier.range)
                                  : Overlap(request.order, *request.range, *earlier.range);
}

bool LockTable::Holds(const Request& request) const {
  if (request.lock != nullptr) {
    for (const Holder& holder : request.lock->holders) {
      if (holder.owner == request.owner && (holder.mode == request.mode || holder.mode == LockMode::kExclusive))
        return true;
    }
  }
  if (request.owner->ranges_ == 0) return false;
  return std::any_of(ranges_.begin(), ranges_.end(), [&](const RangeLock& held) {
    if (held.owner != request.owner || held.family != request.family) return false;
    if (held.mode != request.mode && held.mode != LockMode::kExclusive) return false;
    return request.range == nullptr ? IsIn(request.order, request.key, held.range)
                                    : Contains(request.order, held.range, *request.range);
  });
}

bool LockTable::ConflictsWithLocksOf(const Request& request, const Owner& holder) const {
  const auto holds = [&](const Lock& lock) {
    return std::any_of(lock.holders.begin(), lock.holders.end(),
                       [&](const Holder& each) { return each.owner == &holder && Conflict(each.mode, request.mode); });
  };
  const bool key = request.lock != nullptr
                       ? holds(*request.lock)
                       : std::any_of(holder.keys_.begin(), holder.keys_.end(),
                                     [&](const Lock* lock) { return Overlaps(request, *lock) && holds(*lock); });
  if (key || holder.ranges_ == 0) return key;
  return std::any_of(ranges_.begin(), ranges_.end(), [&](const RangeLock& held) {
    return held.owner == &holder && Conflict(held.mode, request.mode) && Overlaps(request, held);
  });
}

LockTable::Owners LockTable::WaitersFor(const Owner* owner) const {
  Owners found = {owner};
  if (owner->empty()) return found;
  const auto is_found = [&](const Owner* other) { return std::find(found.begin(), found.end(), other) != found.end(); };
  for (size_t looked = 0; looked < found.size(); ++looked) {
    const Owner& waited_for = *found[looked];
    const Request* theirs = nullptr;  // the request of `waited_for`, once the loop has passed it
    for (const Request* const waiting : line_) {
      if (waiting->owner == &waited_for) theirs = waiting;
      if (is_found(waiting->owner)) continue;
      const bool behind = theirs != nullptr && Conflict(theirs->mode, waiting->mode) && Overlaps(*waiting, *theirs);
      if (behind || ConflictsWithLocksOf(*waiting, waited_for)) found.push_back(waiting->owner);
    }
  }
  return found;
}

template <class Look>
void LockTable::ForEachBlocker(const Request& request, Look look) const {
  const auto look_at_holders = [&](const Lock& lock) {
    for (const Holder& holder : lock.holders) {
      if (holder.owner != request.owner && Conflict(holder.mode, request.mode) && !look(holder.owner)) return false;
    }
    return true;
  };
  if (request.lock != nullptr) {
    if (!look_at_holders(*request.lock)) return;
  } else {
    for (const std::unique_ptr<Lock>& lock : keys_) {
      if (Overlaps(request, *lock) && !look_at_holders(*lock)) return;
    }
  }
  for (const RangeLock& held : ranges_) {
    if (held.owner == request.owner || !Conflict(held.mode, request.mode) || !Overlaps(request, held)) continue;
    if (!look(held.owner)) return;
  }
  Owners waiters;
  for (const Request* const earlier : line_) {
    if (earlier == &request) return;
    if (!Conflict(earlier->mode, request.mode) || !Overlaps(request, *earlier)) continue;
    if (waiters.empty()) waiters = WaitersFor(request.owner);
    if (std::find(waiters.begin(), waiters.end(), earlier->owner) != waiters.end()) continue;
    if (!look(earlier->owner)) return;
  }
}

bool LockTable::IsBlocked(const Request& request) const {
  bool blocked = false;
  ForEachBlocker(request, [&](Owner*) { return !(blocked = true); });
  return blocked;
}

void LockTable::Grant(Request* request) {
  request->state = Request::State::kGranted;
  Owner* const owner = request->owner;
  if (request->range != nullptr) {
    ranges_.push_back({.owner = owner,
                       .family = request->family,
                       .order = request->order,
                       .mode = request->mode,
                       .range = *request->range});
    ++owner->ranges_;
    return;
  }
  for (Holder& holder : request->lock->holders) {
    if (holder.owner != owner) continue;
    holder.mode = request->mode;
    return;
  }
  request->lock->holders.push_back({owner, request->mode});
  owner->keys_.push_back(request->lock);
}

void LockTable::GrantWaiting() {
  for (auto it = line_.begin(); it != line_.end();) {
    Request* const request = *it++;
    if (IsBlocked(*request)) continue;
    line_.remove(request);
    Grant(request);
    request->changed.NotifyOne();
  }
}

void LockTable::BreakDeadlocks(Request* request) {
  const WaitsFor waits_for = [this](uint64_t waiter) {
    mutex_.AssertHeld();
    std::vector<uint64_t> blockers;
    for (const Request* const waiting : line_) {
      if (waiting->owner->id() != waiter) continue;
      ForEachBlocker(*waiting, [&](Owner* owner) {
        blockers.push_back(owner->id());
        return true;
      });
    }
    return blockers;
  };
  while (request->state == Request::State::kWaiting) {
    const std::vector<uint64_t> cycle = FindWaitCycle(request->owner->id(), waits_for);
    if (cycle.empty()) return;
    const uint64_t youngest = *std::max_element(cycle.begin(), cycle.end());
    std::string members;
    Request* victim = nullptr;
    for (const uint64_t member : cycle) {
      for (Request* const waiting : line_) {
        if (waiting->owner->id() != member) continue;
        absl::StrAppendFormat(&members, "%s%u for %s", members.empty() ? "" : ", ", member,
                              waiting->range == nullptr ? Describe(waiting->key) : "a range");
        if (member == youngest) victim = waiting;
      }
    }
    line_.remove(victim);
    victim->state = Request::State::kRefused;
    victim->refusal = absl::AbortedError(
        absl::StrFormat("a deadlock: transactions wait for each other (%s), and %u, the youngest, was rolled back: run "
                        "it again",
                        members, youngest));
    victim->changed.NotifyOne();
  }
}

absl::Status LockTable::Await(Request* request, std::chrono::milliseconds timeout) {
  const auto timed_out = [&] {
    const std::string what = request->range == nullptr ? Describe(request->key) : "a range of keys";
    if (request->owner->kind_ == Owner::Kind::kPlainWrite) {
      return absl::DeadlineExceededError(
          absl::StrFormat("%s is locked by a transaction, and was not free in the time that a write waits for all the "
                          "locks of its batch; nothing was written",
                          what));
    }
    return absl::DeadlineExceededError(
        absl::StrFormat("%s is locked by another transaction, and was not free within %d ms", what, timeout.count()));
  };
  if (timeout.count() <= 0) return timed_out();
  constexpr uint64_t kMostMillis = uint64_t{1} << 40;
  if (closed_) return Closed();
  line_.push_back(request);
  BreakDeadlocks(request);
  // With this wait, an owner in line may have come to wait for one behind it, whose request it then no longer blocks.
  GrantWaiting();
  const uint64_t deadline =
      clock_->MonotonicMicros() + 1000 * std::min(kMostMillis, static_cast<uint64_t>(timeout.count()));
  while (request->state == Request::State::kWaiting) {
    const uint64_t now = clock_->MonotonicMicros();
    if (now >= deadline) {
      line_.remove(request);
      GrantWaiting();  // requests that waited behind this one
      return timed_out();
    }
    request->changed.WaitFor(&mutex_, deadline - now);
  }
  if (request->state == Request::State::kGranted) return absl::OkStatus();
  GrantWaiting();
  return request->refusal;
}

void LockTable::Close() {
  MutexLock guard(&mutex_);
  closed_ = true;
  for (Request* const waiting : line_) {
    waiting->state = Request::State::kRefused;
    waiting->refusal = Closed();
    waiting->changed.NotifyOne();
  }
  line_.clear();
}

void LockTable::RemoveIfUnused(Lock* lock) {
  if (lock->holders.empty() && lock->requests == 0) keys_.erase(lock->name());
}

void LockTable::ReleaseAll(Owner* owner) {
  if (owner->empty()) return;
  MutexLock guard(&mutex_);
  if (owner->ranges_ > 0) ranges_.remove_if([&](const RangeLock& held) { return held.owner == owner; });
  for (Lock* const lock : owner->keys_) {
    const auto it = std::find_if(lock->holders.begin(), lock->holders.end(),
                                 [&](const Holder& holder) { return holder.owner == owner; });
    lock->holders.erase(it);
    RemoveIfUnused(lock);
  }
  owner->keys_.clear();
  owner->ranges_ = 0;
  budget_->Release(MemoryPart::kTransactions, std::exchange(owner->charged_bytes_, 0));
  GrantWaiting();
}

}  // namespace sepal
