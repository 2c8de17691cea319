#include "sepal/simulation/simulated_world.h"

#include <algorithm>
#include <array>
#include <bit>
#include <climits>
#include <cstdio>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "util/base/check.h"
#include "util/base/hash.h"
#include "util/base/random.h"
#include "util/thread/sync.h"

namespace sepal {

class SimulatedWorld::Impl final : public Scheduler {
 public:
  using Priority = Executor::Priority;
  explicit Impl(SimulationOptions options);
  ~Impl();

  void Spawn(std::function<void()> body);
  void BeginOperation();
  void RunUntilIdle();
  uint64_t switches() const { return switches_; }
  uint64_t micros() const { return now_micros_; }
  uint64_t points() const { return points_; }
  uint64_t schedule_hash() const { return schedule_hash_; }
  int compaction_workers() const { return options_.compaction_workers; }
  void Schedule(Priority priority, std::function<void()> work);
  void ScheduleAfter(Priority priority, uint64_t micros, std::function<void()> work);
  uint64_t Tick() { return ++now_micros_; }
  void SleepMicros(uint64_t micros);

  // Scheduler.
  void Point(const void* object, int held_locks) override;
  void Wait(const void* object, uint64_t deadline_micros) override;
  uint64_t NowMicros() override { return now_micros_; }

 private:
  struct Actor;
  using Queue = std::deque<std::function<void()>>;

  Actor* AddActor(std::string name, std::function<void(Actor*)> body);
  void RunWorker(Actor* self, Priority priority);
  void TakeFirstBaton(Actor* self);
  void HandOver(Actor* next);
  void Finish(Actor* self);
  void NotePoint();
  bool IsToPark();
  uint64_t DrawOfEachPowerOfTwo(uint64_t limit);
  uint64_t DrawPriority();
  uint64_t IndexOf(const Actor* actor) const;
  std::vector<Actor*> Candidates() const;
  Actor* FirstToLeaveItsPark() const;
  Actor* PickNext();
  void WakeExpired();
  uint64_t EarliestDeadline() const;
  [[noreturn]] void StopAtDeadlock() const;
  Queue& QueueOf(Priority priority) { return queues_[static_cast<size_t>(priority)]; }

  const SimulationOptions options_;
  const ScopedScheduler installed_;

  // The baton: `current_` changes with the mutex held, and the thread that it names reads it without the mutex.
  Mutex baton_;
  Actor* current_ = nullptr;

  // Everything below belongs to the holder of the baton.
  std::vector<std::unique_ptr<Actor>> actors_;  // in order of creation; the first is the world's creator
  std::array<Queue, 3> queues_;
  std::multimap<uint64_t, std::pair<Priority, std::function<void()>>> later_;  // by the time at which it is due
  Random random_;
  uint64_t now_micros_;
  uint64_t switches_ = 0;
  uint64_t points_ = 0;
  uint64_t schedule_hash_ = 0;
  // The points at which the running thread's priority falls, in order, and the lowest priority given so far.
  std::vector<uint64_t> changes_;
  size_t next_change_ = 0;
  uint64_t lowest_priority_ = uint64_t{1} << 32;
  bool stopping_ = false;
  bool scrub_worker_ = false;
};

struct SimulatedWorld::Impl::Actor {
  enum class State : uint8_t {
    kReady,         // is running, or can run
    kWaiting,       // waits for a point on `object`, or for the deadline
    kAwaitingIdle,  // waits until no other thread can run
    kWithoutWork,   // a worker that waits for work in its queue
    kFinished,
  };

  std::string name;
  State state = State::kReady;
  const Queue* queue = nullptr;  // for workers only
  const void* object = nullptr;
  uint64_t deadline_micros = UINT64_MAX;
  uint64_t priority = 0;
  uint64_t points_to_park = 0;  // 0: the current operation is not to be parked, or was parked already
  uint64_t parked_until = 0;    // a number of points
  CondVar has_baton;
  std::optional<Thread> thread;
};

SimulatedWorld::Impl::Impl(SimulationOptions options)
    : options_(options), installed_(this), random_(options.seed), now_micros_(options.start_micros) {
  for (int i = 0; i < options_.priority_changes; ++i) {
    changes_.push_back(1 + random_.Uniform(std::max<uint64_t>(1, options_.priority_points)));
  }
  std::sort(changes_.begin(), changes_.end());
  actors_.push_back(std::make_unique<Actor>());
  actors_.back()->name = "the first thread";
  actors_.back()->priority = DrawPriority();
  current_ = actors_.back().get();
  for (int i = 0; i < options_.flush_workers; ++i) {
    AddActor(absl::StrFormat("flush worker %d", i), [this](Actor* self) { RunWorker(self, Priority::kFlush); });
  }
  for (int i = 0; i < options_.compaction_workers; ++i) {
    AddActor(absl::StrFormat("compaction worker %d", i),
             [this](Actor* self) { RunWorker(self, Priority::kCompaction); });
  }
}

SimulatedWorld::Impl::~Impl() {
  SEPAL_CHECK(current_ == actors_.front().get());
  RunUntilIdle();
  for (const auto& actor : actors_) {
    if (actor->state == Actor::State::kWaiting) StopAtDeadlock();
  }
  stopping_ = true;
  for (const auto& actor : actors_) {
    if (actor->state == Actor::State::kWithoutWork ||
        (actor.get() != current_ && actor->state == Actor::State::kReady)) {
      HandOver(actor.get());
    }
  }
  actors_.clear();  // joins the threads
}

SimulatedWorld::Impl::Actor* SimulatedWorld::Impl::AddActor(std::string name, std::function<void(Actor*)> body) {
  actors_.push_back(std::make_unique<Actor>());
  Actor* actor = actors_.back().get();
  actor->name = std::move(name);
  actor->priority = DrawPriority();
  actor->thread.emplace([this, actor, body = std::move(body)]() mutable {
    TakeFirstBaton(actor);
    {
      ScopedScheduler scheduler(this);
      body(actor);
      body = nullptr;  // destroys the captures while this thread has the baton
    }
    Finish(actor);
  });
  return actor;
}

void SimulatedWorld::Impl::Spawn(std::function<void()> body) {
  AddActor(absl::StrFormat("thread %d", actors_.size()), [body = std::move(body)](Actor*) { body(); });
  SchedulePoint(this);
}

void SimulatedWorld::Impl::RunWorker(Actor* self, Priority priority) {
  Queue& queue = QueueOf(priority);
  self->queue = &queue;
  while (true) {
    while (!queue.empty()) {
      std::function<void()> work = std::move(queue.front());
      queue.pop_front();
      BeginOperation();
      work();
      work = nullptr;
      SchedulePoint(this);
    }
    if (stopping_) return;
    self->state = Actor::State::kWithoutWork;
    HandOver(PickNext());
    self->state = Actor::State::kReady;
  }
}

void SimulatedWorld::Impl::RunUntilIdle() {
  SEPAL_CHECK(current_ == actors_.front().get() && internal::held_locks == 0);
  current_->state = Actor::State::kAwaitingIdle;
  HandOver(PickNext());
  current_->state = Actor::State::kReady;
}

void SimulatedWorld::Impl::Schedule(Priority priority, std::function<void()> work) {
  SEPAL_CHECK(Scheduler::Current() == this);
  if (priority == Priority::kScrub && !std::exchange(scrub_worker_, true)) {
    AddActor("the scrub worker", [this](Actor* self) { RunWorker(self, Priority::kScrub); });
  }
  QueueOf(priority).push_back(std::move(work));
  SchedulePoint(this);
}

void SimulatedWorld::Impl::ScheduleAfter(Priority priority, uint64_t micros, std::function<void()> work) {
  SEPAL_CHECK(Scheduler::Current() == this && priority != Priority::kScrub);
  later_.emplace(now_micros_ + micros, std::pair(priority, std::move(work)));
}

void SimulatedWorld::Impl::Point(const void* object, int held_locks) {
  for (const auto& actor : actors_) {
    if (actor->state == Actor::State::kWaiting && actor->object == object) actor->state = Actor::State::kReady;
  }
  if (held_locks == INT_MAX) return;
  NotePoint();
  if (held_locks > 0 && !options_.switch_inside_locks) return;
  if (IsToPark() || options_.priority_changes > 0 || random_.OneIn(options_.switch_one_in)) HandOver(PickNext());
}

// Few operations have more points; further points are never chosen for parking.
static constexpr uint64_t kPointsOfAnOperation = 1024;

void SimulatedWorld::Impl::BeginOperation() {
  if (options_.park_one_in == 0) return;
  const bool parks = random_.OneIn(options_.park_one_in);
  current_->points_to_park = parks ? DrawOfEachPowerOfTwo(kPointsOfAnOperation) : 0;
}

bool SimulatedWorld::Impl::IsToPark() {
  if (current_->points_to_park == 0 || --current_->points_to_park > 0) return false;
  current_->parked_until = points_ + DrawOfEachPowerOfTwo(options_.longest_park);
  return true;
}

// Returns a number of at least 1.
uint64_t SimulatedWorld::Impl::DrawOfEachPowerOfTwo(uint64_t limit) {
  const uint64_t power = uint64_t{1} << random_.Uniform(static_cast<uint64_t>(std::bit_width(limit - 1)));
  return power + random_.Uniform(power);
}

void SimulatedWorld::Impl::NotePoint() {
  ++points_;
  while (next_change_ < changes_.size() && changes_[next_change_] <= points_) {
    ++next_change_;
    current_->priority = --lowest_priority_;
  }
}

// Returns a number above every one that `NotePoint` gives.
uint64_t SimulatedWorld::Impl::DrawPriority() {
  return options_.priority_changes > 0 ? random_.Next() | (uint64_t{1} << 63) : 0;
}

void SimulatedWorld::Impl::Wait(const void* object, uint64_t deadline_micros) {
  Actor* self = current_;
  self->state = Actor::State::kWaiting;
  self->object = object;
  self->deadline_micros = deadline_micros;
  HandOver(PickNext());
  self->state = Actor::State::kReady;
}

void SimulatedWorld::Impl::SleepMicros(uint64_t micros) {
  SEPAL_CHECK(Scheduler::Current() == this);
  const uint64_t deadline = now_micros_ + micros;
  // A unique object without points, so that only time ends the wait.
  const char sleeping = 0;
  while (now_micros_ < deadline) Wait(&sleeping, deadline);
}

SimulatedWorld::Impl::Actor* SimulatedWorld::Impl::FirstToLeaveItsPark() const {
  Actor* first = nullptr;
  for (const auto& actor : actors_) {
    const bool parked = actor->state == Actor::State::kReady && actor->parked_until > points_;
    if (parked && (first == nullptr || actor->parked_until < first->parked_until)) first = actor.get();
  }
  return first;
}

// Includes one worker without work for each queue: it makes no difference which of them takes the work.
std::vector<SimulatedWorld::Impl::Actor*> SimulatedWorld::Impl::Candidates() const {
  std::vector<Actor*> candidates;
  std::vector<const Queue*> offered;
  for (const auto& actor : actors_) {
    if (actor->state == Actor::State::kReady) {
      if (actor->parked_until > points_) continue;
      candidates.push_back(actor.get());
    } else if (actor->state == Actor::State::kWithoutWork && !actor->queue->empty() &&
               std::find(offered.begin(), offered.end(), actor->queue) == offered.end()) {
      offered.push_back(actor->queue);
      candidates.push_back(actor.get());
    }
  }
  return candidates;
}

SimulatedWorld::Impl::Actor* SimulatedWorld::Impl::PickNext() {
  WakeExpired();
  std::vector<Actor*> candidates = Candidates();
  if (Actor* const parked = candidates.empty() ? FirstToLeaveItsPark() : nullptr) {
    parked->parked_until = 0;
    return parked;
  }
  // Work that is due wakes no worker of its queue that sleeps to a deadline of its own.
  while (candidates.empty() && EarliestDeadline() != UINT64_MAX) {
    now_micros_ = EarliestDeadline();
    WakeExpired();
    candidates = Candidates();
  }
  if (!candidates.empty() && options_.priority_changes > 0) {
    return *std::max_element(candidates.begin(), candidates.end(),
                             [](const Actor* a, const Actor* b) { return a->priority < b->priority; });
  }
  if (!candidates.empty()) return candidates[random_.Uniform(candidates.size())];
  Actor* first = actors_.front().get();
  if (first->state != Actor::State::kAwaitingIdle) StopAtDeadlock();
  return first;
}

void SimulatedWorld::Impl::WakeExpired() {
  for (; !later_.empty() && later_.begin()->first <= now_micros_; later_.erase(later_.begin())) {
    auto& [priority, work] = later_.begin()->second;
    QueueOf(priority).push_back(std::move(work));
  }
  for (const auto& actor : actors_) {
    if (actor->state == Actor::State::kWaiting && actor->deadline_micros <= now_micros_) {
      actor->state = Actor::State::kReady;
    }
  }
}

// Scrubbing starts again forever, and so may delayed work: RunUntilIdle waits for neither.
uint64_t SimulatedWorld::Impl::EarliestDeadline() const {
  const bool idleness_is_awaited = actors_.front()->state == Actor::State::kAwaitingIdle;
  uint64_t earliest = later_.empty() || idleness_is_awaited ? UINT64_MAX : later_.begin()->first;
  for (const auto& actor : actors_) {
    if (actor->state != Actor::State::kWaiting) continue;
    if (idleness_is_awaited && actor->queue == &queues_[static_cast<size_t>(Priority::kScrub)]) continue;
    earliest = std::min(earliest, actor->deadline_micros);
  }
  return earliest;
}

void SimulatedWorld::Impl::StopAtDeadlock() const {
  for (const auto& actor : actors_) {
    if (actor->state != Actor::State::kWaiting) continue;
    std::fprintf(stderr, "simulation with seed %llu: %s waits on %p\n", static_cast<unsigned long long>(options_.seed),
                 actor->name.c_str(), actor->object);
  }
  CheckFailed(__FILE__, __LINE__, "no deadlock: every simulated thread waits, and no deadline will wake one");
}

void SimulatedWorld::Impl::TakeFirstBaton(Actor* self) {
  MutexLock lock(&baton_);
  while (current_ != self) self->has_baton.Wait(&baton_);
}

uint64_t SimulatedWorld::Impl::IndexOf(const Actor* actor) const {
  return static_cast<uint64_t>(
      std::find_if(actors_.begin(), actors_.end(), [&](const auto& other) { return other.get() == actor; }) -
      actors_.begin());
}

// The scheduler is off here: the baton's own mutex is a real one.
void SimulatedWorld::Impl::HandOver(Actor* next) {
  Actor* self = current_;
  if (self == next) return;
  ++switches_;
  schedule_hash_ = Mix64(schedule_hash_ ^ (points_ << 8) ^ IndexOf(next));
  ScopedScheduler real(nullptr);
  MutexLock lock(&baton_);
  current_ = next;
  next->has_baton.NotifyOne();
  while (current_ != self) self->has_baton.Wait(&baton_);
}

void SimulatedWorld::Impl::Finish(Actor* self) {
  self->state = Actor::State::kFinished;
  Actor* next = stopping_ ? actors_.front().get() : PickNext();
  ++switches_;
  MutexLock lock(&baton_);
  current_ = next;
  next->has_baton.NotifyOne();
}

// --- the public interface ---

SimulatedWorld::SimulatedWorld(SimulationOptions options) : impl_(std::make_unique<Impl>(options)) {}
SimulatedWorld::~SimulatedWorld() = default;
void SimulatedWorld::Spawn(std::function<void()> body) { impl_->Spawn(std::move(body)); }
void SimulatedWorld::BeginOperation() { impl_->BeginOperation(); }
void SimulatedWorld::RunUntilIdle() { impl_->RunUntilIdle(); }
uint64_t SimulatedWorld::switches() const { return impl_->switches(); }
uint64_t SimulatedWorld::micros() const { return impl_->micros(); }
uint64_t SimulatedWorld::points() const { return impl_->points(); }
uint64_t SimulatedWorld::schedule_hash() const { return impl_->schedule_hash(); }
void SimulatedWorld::Schedule(Priority priority, std::function<void()> work) {
  impl_->Schedule(priority, std::move(work));
}
bool SimulatedWorld::ScheduleAfter(Priority priority, uint64_t micros, std::function<void()> work) {
  impl_->ScheduleAfter(priority, micros, std::move(work));
  return true;
}
int SimulatedWorld::CompactionConcurrency() const { return impl_->compaction_workers(); }
uint64_t SimulatedWorld::MonotonicMicros() { return impl_->Tick(); }
void SimulatedWorld::SleepMicros(uint64_t micros) { impl_->SleepMicros(micros); }

}  // namespace sepal
