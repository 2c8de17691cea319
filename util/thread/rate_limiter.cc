#include "util/thread/rate_limiter.h"

#include <algorithm>

namespace sepal {

bool RateLimiter::IsTurn(Executor::Priority priority, uint64_t ticket) const {
  const auto line = lines_.begin() + static_cast<ptrdiff_t>(priority);
  return ticket == line->first_ticket && std::all_of(lines_.begin(), line, [](const Line& l) { return l.empty(); });
}

void RateLimiter::Charge(uint64_t bytes, uint64_t now) {
  constexpr uint64_t kMicros = 1'000'000;
  const uint64_t oldest_credit = now - std::min(now, kBurstMicros);
  in_credit_at_micros_ = std::max(in_credit_at_micros_, oldest_credit);
  // Two steps, because bytes * 10^6 could overflow.
  in_credit_at_micros_ += bytes / bytes_per_second_ * kMicros;
  uncharged_ += bytes % bytes_per_second_ * kMicros;
  in_credit_at_micros_ += uncharged_ / bytes_per_second_;
  uncharged_ %= bytes_per_second_;
}

uint64_t RateLimiter::TakeTurn(uint64_t bytes, Executor::Priority priority) {
  const uint64_t arrived = clock_->MonotonicMicros();
  uint64_t now = arrived;
  MutexLock lock(&mutex_);
  const uint64_t ticket = LineOf(priority).next_ticket++;
  while (!lifted_) {
    if (!IsTurn(priority, ticket)) {
      changed_.Wait(&mutex_);
    } else if (in_credit_at_micros_ > now) {
      changed_.WaitFor(&mutex_, in_credit_at_micros_ - now);
    } else {
      break;
    }
    now = clock_->MonotonicMicros();
  }
  ++LineOf(priority).first_ticket;
  Charge(bytes, now);
  changed_.NotifyAll();
  return now - arrived;
}

void RateLimiter::Lift() {
  MutexLock lock(&mutex_);
  lifted_ = true;
  changed_.NotifyAll();
}

}  // namespace sepal
