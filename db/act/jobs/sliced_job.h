// A job over keys in order, cut into slices that threads share out among themselves (db/act/jobs/slices.h): the calling
// thread, which never waits for one that it does not get, and as many as may work at the time and the executor has to
// spare. Neighbouring slices that one thread goes through are a part.
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
  // A job that is large enough has so many slices for each thread: threads end within about a slice of each other.
  static constexpr uint64_t kSlicesOfThread = 8;
  // After so many entries a part asks for help again.
  static constexpr uint64_t kEntriesBetweenQuestions = 1024;

  struct Cut {
    // User keys, ascending. Slice i covers those in [boundary i - 1, boundary i).
    std::vector<std::string> boundaries;
    // As many threads as find enough to do.
    size_t most_threads = 1;
    // How many may work now; may grow.
    std::function<int()> threads;
  };

  // `part` works from the beginning of a slice on, as far as Reaches goes. Several threads call it, each slice is given
  // to one. Null: no executor helps.
  SlicedJob(KeyOrder order, Cut cut, Executor* executor, std::function<absl::Status(size_t slice)> part);

  size_t SliceCount() const { return boundaries_.size() + 1; }
  // Returns when all slices are done, or one has failed and no thread works any more.
  void Run();

  // For parts:

  // Null: the slice begins with the first key.
  const std::string* BeginOf(size_t slice) const { return slice == 0 ? nullptr : &boundaries_[slice - 1]; }
  // Whether the key lies in the part's last slice so far, or in one behind it that no other thread has begun, which the
  // part then gets too.
  bool Reaches(std::string_view user_key, size_t* slice) {
    return *slice == boundaries_.size() || order_.Less(user_key, boundaries_[*slice]) || GoesOn(user_key, slice);
  }
  // Asks for as many threads as may work by now. To be called now and then.
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
