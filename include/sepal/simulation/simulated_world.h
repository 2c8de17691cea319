// A world of simulated threads: executor, scheduler and clock in one, deterministic from a seed.
//
// Exactly one simulated thread runs at any time: the one that holds the baton. At every scheduling point
// (a lock, a wait, an atomic publication, a call on a file) the seed decides whether it goes on or hands the baton to another; a wait always hands it on.
// Each simulated thread has an operating-system thread for its stack and its thread-local state, so that any of them
// can be left in the middle of a call; but none runs unless it has the baton, so the order of all that happens depends
// on the seed alone.
//
// Simulated threads: the one that makes the world, the flush and the compaction workers, one for scrubbing once there
// is such work, and those of `Spawn`. No other thread may use the world, and code inside it may start no `Thread` of
// its own.
//
// Time is virtual: it passes when a thread asks for it (1 us a call) and, when every thread waits, it jumps to the
// earliest deadline. If there is none, that is a deadlock, and the process stops with a list of who waits.
//
// What the threads use must outlive the world. A switch costs a few microseconds.
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
  // At a point where the thread holds no lock, it hands over once in so many.
  uint32_t switch_one_in = 8;
  // Above 0: no chance at points. Instead the thread of the highest priority runs, priorities are drawn at random, and
  // at so many points, drawn from the first `priority_points`, the running thread falls below all others (PCT:
  // Burckhardt and others 2010). A mistake that takes d such changes is found with a probability of at least
  // 1 / (threads * points^d).
  int priority_changes = 0;
  uint64_t priority_points = 2000;
  // Above 0: one operation in so many (`BeginOperation`; a worker's piece of work is one) is parked at one of its
  // points: it stays there while others pass up to `longest_park` points, or until no other can go on. Which of its
  // points, and for how long, is drawn so that each power of two is as likely as the next: the few steps of a short
  // operation are hit as surely as the many of a long one, and another operation, or very many, fit between two of
  // them.
  uint32_t park_one_in = 0;
  uint64_t longest_park = 1 << 14;
  // Hand over at points inside locks too.
  bool switch_inside_locks = false;
  uint64_t start_micros = 1'700'000'000'000'000;
};

class SimulatedWorld final : public Executor, public Clock {
 public:
  // The calling thread becomes the first simulated thread; it must be the one that destroys the world.
  explicit SimulatedWorld(SimulationOptions options);
  explicit SimulatedWorld(uint64_t seed) : SimulatedWorld(SimulationOptions{.seed = seed}) {}
  // Runs everything to its end. A thread that then still waits is a deadlock.
  ~SimulatedWorld() override;
  SimulatedWorld(const SimulatedWorld&) = delete;
  SimulatedWorld& operator=(const SimulatedWorld&) = delete;

  // Starts another simulated thread.
  void Spawn(std::function<void()> body);
  // The calling thread begins something that may be parked as one.
  void BeginOperation();
  // Lets the others run, and time pass, until each has finished, is without work, or waits for what only the caller
  // (the world's first thread) can bring about. Scrubbing that waits for its next time counts as without work.
  void RunUntilIdle();
  // How often the baton went from one thread to another, and the time.
  uint64_t switches() const;
  uint64_t micros() const;
  // How many points were met, and a hash of who ran between which.
  uint64_t points() const;
  uint64_t schedule_hash() const;

  // Executor.
  void Schedule(Priority priority, std::function<void()> work) override;
  int CompactionConcurrency() const override;

  // Clock. Both times are one.
  uint64_t MonotonicMicros() override;
  uint64_t UnixMicros() override { return MonotonicMicros(); }
  void SleepMicros(uint64_t micros) override;

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace sepal
