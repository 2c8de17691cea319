// A world of simulated threads: executor, scheduler and clock in one, deterministic for a given seed.
//
// Exactly one simulated thread runs at any time: the one that holds the baton. At every scheduling point
// (a lock, a wait, an atomic publication, a call on a file) the seed decides whether it continues or hands the baton to
// another thread; a wait always hands it over. Each simulated thread has an operating-system thread for its stack and
// its thread-local state, so that any of them can be suspended in the middle of a call. None runs without the baton, so
// the order of all events depends on the seed alone.
//
// The simulated threads are the one that creates the world, the flush and compaction workers, one for scrubbing once
// there is such work, and those of `Spawn`. No other thread may use the world, and code inside it must not start a
// `Thread` of its own.
//
// Time is virtual: it advances by 1 us each time a thread reads the clock, and when every thread waits, it jumps to the
// earliest deadline. If there is none, that is a deadlock, and the process stops with a list of the waiting threads.
//
// Everything that the threads use must outlive the world. A switch costs a few microseconds.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "sepal/env.h"

namespace sepal {

struct SimulationOptions {
  uint64_t seed = 1;
  int flush_workers = 2;
  int compaction_workers = 2;
  // At a point where the thread holds no lock, it hands the baton over once in this many points.
  uint32_t switch_one_in = 8;
  // Above 0: points do not switch at random. Instead the thread with the highest priority runs. Priorities are drawn at
  // random, and at this many points, drawn from the first `priority_points`, the running thread falls below all others
  // (PCT: Burckhardt and others 2010). A bug that takes d such changes is found with a probability of at least 1 /
  // (threads * points^d).
  int priority_changes = 0;
  uint64_t priority_points = 2000;
  // Above 0: one operation in this many (an operation begins with `BeginOperation`; a worker's piece of work is one) is
  // parked at one of its points: it stays there while others pass up to `longest_park` points, or until no other thread
  // can run. The point and the duration are drawn so that each power of two is equally likely: steps of short
  // operations are parked as often as those of long ones, and one other operation, or very many, run between two steps.
  uint32_t park_one_in = 0;
  uint64_t longest_park = 1 << 14;
  // Also switch at points inside locks.
  bool switch_inside_locks = false;
  uint64_t start_micros = 1'700'000'000'000'000;
};

class SimulatedWorld final : public Executor, public Clock {
 public:
  // The calling thread becomes the first simulated thread, and must also destroy the world.
  explicit SimulatedWorld(SimulationOptions options);
  explicit SimulatedWorld(uint64_t seed) : SimulatedWorld(SimulationOptions{.seed = seed}) {}
  // Runs all threads to their end. A thread that still waits then is a deadlock.
  ~SimulatedWorld() override;
  SimulatedWorld(const SimulatedWorld&) = delete;
  SimulatedWorld& operator=(const SimulatedWorld&) = delete;

  // Starts another simulated thread.
  void Spawn(std::function<void()> body);
  // The calling thread begins an operation, which may be parked as a whole.
  void BeginOperation();
  // Lets the others run, and time pass, until each of them has finished, has no work, or waits for something that only
  // the caller (the world's first thread) can do. Scrubbing that waits for its next time counts as having no work.
  void RunUntilIdle();
  // The number of times that the baton went from one thread to another, and the time.
  uint64_t switches() const;
  uint64_t micros() const;
  // The number of points that were passed, and a hash of which thread ran between which points.
  uint64_t points() const;
  uint64_t schedule_hash() const;

  // Executor.
  void Schedule(Priority priority, std::function<void()> work) override;
  // In virtual time. RunUntilIdle does not wait for it.
  bool ScheduleAfter(Priority priority, uint64_t micros, std::function<void()> work) override;
  int CompactionConcurrency() const override;

  // Clock; both times are the same.
  uint64_t MonotonicMicros() override;
  uint64_t UnixMicros() override { return MonotonicMicros(); }
  void SleepMicros(uint64_t micros) override;

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace sepal
