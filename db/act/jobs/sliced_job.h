// A job over ordered keys, cut into slices that threads share out among themselves (db/act/jobs/slices.h): the calling
// thread, which never waits for a thread that it does not get, and as many others as may work at the time and the
// executor has to spare. Neighbouring slices that one thread processes form a part.
//
// Safe for concurrent use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "db/act/jobs/slices.h"
#include "sepal/env.h"
#include "table/key/internal_key.h"
#include "util/thread/job_helpers.h"

namespace sepal {

class SlicedJob {
 public:
  // A large job has this many slices for each thread, so that the threads end within about a slice of each other.
  static constexpr uint64_t kSlicesOfThread = 8;
  // The number of entries after which a part asks for help again.
  static constexpr uint64_t kEntriesBetweenQuestions = 1024;

  struct Cut {
    // User keys, ascending. Slice i covers those in [boundary i - 1, boundary i).
    std::vector<std::string> boundaries;
    // The number of threads that find enough work.
    size_t most_threads = 1;
    // Returns how many may work now, which may grow.
    std::function<int()> threads;
  };

  // `part` works from the beginning of a slice on, as far as Reaches allows. Several threads call it, and each slice is
  // given to one. `executor`: null if no threads help.
  SlicedJob(KeyOrder order, Cut cut, Executor* executor, std::function<absl::Status(size_t slice)> part);

  size_t SliceCount() const { return boundaries_.size() + 1; }
  // Returns when all slices are done, or when one has failed and no thread works any more.
  void Run();

  // For parts:

  // Null if the slice begins with the first key.
  const std::string* BeginOf(size_t slice) const { return slice == 0 ? nullptr : &boundaries_[slice - 1]; }
  // Returns whether the key lies in the part's last slice so far, or in a later one that no other thread has begun,
  // which the part then takes too.
  bool Reaches(std::string_view user_key, size_t* slice) {
    return *slice == boundaries_.size() || order_.Less(user_key, boundaries_[*slice]) || GoesOn(user_key, slice);
  }
  // Asks for as many threads as may work now. To be called from time to time.
  void AskForHelp();

 private:
  size_t Granted() const;
  void Work();
  bool GoesOn(std::string_view user_key, size_t* slice);

  const KeyOrder order_;
  const std::vector<std::string> boundaries_;
  const size_t most_threads_;
  const std::function<int()> threads_;
  const std::function<absl::Status(size_t)> part_;
  Slices slices_;
  Helpers helpers_;
};

}  // namespace sepal
