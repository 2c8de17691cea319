// The memtables of databases that share one memory limit: which database is flushed when they are full, and how far its
// writers are held back.
//
// Laws:
//   - active memtables of all databases share one budget. Over it, those of the databases that have the largest are
//     flushed until half of it is free: a database that is hardly written to keeps its own as long as others have more;
//   - active memtables and those that are being flushed may take twice as much together, at which writers stop; but a
//     database that has less than half of an equal share goes on beside those that have more;
//   - what a database holds and cannot flush, for want of space or after an error, does not count against the others;
//     the database itself may have less.
//
// Safe for concurrent use. The mutex is held while `flush` of a member is called, which has an executor do it.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <list>

#include "absl/base/thread_annotations.h"
#include "util/thread/sync.h"

namespace sepal {

class MemtableGroup {
 public:
  explicit MemtableGroup(size_t memtable_bytes) : memtable_bytes_(memtable_bytes) {}
  MemtableGroup(const MemtableGroup&) = delete;
  MemtableGroup& operator=(const MemtableGroup&) = delete;

  // A database, from its opening until nothing holds its memory any more. Under the mutex of the group.
  class Member {
   public:
    explicit Member(MemtableGroup* group);
    ~Member();
    Member(const Member&) = delete;
    Member& operator=(const Member&) = delete;

    // Asked for when the group needs the memory, until it is null; `flush` has a thread switch all memtables and then
    // call Flushed.
    void FlushBy(std::function<void()> flush);
    // A flush that was asked for has begun, or is not possible.
    void Flushed(bool possible);
    // How much is in its active memtables by now. Others may be asked for a flush. True: it is this one that is to be
    // flushed, by the caller.
    bool Report(size_t active_bytes);
    // The same after a switch, which asks for nothing.
    void Switched(size_t active_bytes);
    // How much of what it holds cannot be flushed.
    void SetStuck(size_t bytes);
    // What its writers are to be held back for, as a part of `own_limit` bytes, where it has `own` bytes in memtables
    // and all together have `used`.
    size_t Pressure(size_t own, size_t used, size_t own_limit) const;
    // Asks all others for a flush of what they hold. False: there is none to ask, and none was asked.
    bool AskOthers();
    MemtableGroup* group() const { return group_; }

   private:
    friend class MemtableGroup;

    MemtableGroup* const group_;
    std::function<void()> flush_;
    size_t active_bytes_ = 0;
    size_t stuck_bytes_ = 0;
    bool leaves_ = false;  // since it was asked, until it was switched
    bool asked_ = false;   // and has not answered
    std::list<Member*>::iterator place_;
  };

  size_t members() const { return members_.load(std::memory_order_relaxed); }
  const std::atomic<size_t>* member_count() const { return &members_; }
  size_t memtable_bytes() const { return memtable_bytes_; }
  // Jobs of all members that may free memory: those that wait for space on a disk do not count.
  void CountJobs(int more) { jobs_.fetch_add(more, std::memory_order_relaxed); }
  bool AnythingUnderWay() const { return jobs_.load(std::memory_order_relaxed) > 0 || asked_.load() > 0; }
  bool OneJobAtMost() const { return jobs_.load(std::memory_order_relaxed) <= 1; }
  // Large batches that were let in, and are not in memtables yet.
  std::atomic<size_t> let_in_bytes{0};

 private:
  void AskLargest(const Member* reporter, bool* itself) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Ask(Member* member) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Answered(Member* member) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static bool MayBeAsked(const Member& member) {
    return member.flush_ != nullptr && !member.leaves_ && member.stuck_bytes_ == 0 && member.active_bytes_ > 0;
  }

  const size_t memtable_bytes_;
  std::atomic<size_t> members_{0};
  std::atomic<int> jobs_{0};
  std::atomic<int> asked_{0};
  mutable Mutex mutex_;
  std::list<Member*> all_ ABSL_GUARDED_BY(mutex_);
  size_t staying_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // in active memtables of those that do not leave
  size_t stuck_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace sepal
