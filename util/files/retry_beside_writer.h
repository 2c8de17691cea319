// Examines files that another process may be writing.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "util/base/strings.h"

namespace sepal {

// Beside a live writer, files appear, grow and disappear during an examination, which can be mistaken for damage or for
// a missing database. `look` returns a StatusOr; while it finds such a problem, it is called again, at most 8 times. A
// result that two consecutive calls agree on is returned. If they never agree, the writer changed the files every time:
// `Aborted`.
template <typename Look>
auto RetryBesideWriter(Look look) -> decltype(look()) {
  constexpr int kLooks = 8;
  absl::Status before;
  for (int looks = 1;; ++looks) {
    auto seen = look();
    const absl::Status& status = seen.status();
    if (!absl::IsDataLoss(status) && !absl::IsNotFound(status) && !absl::IsAborted(status)) return seen;
    if (looks == kLooks && status != before) {
      return absl::AbortedError(absl::StrFormat("%s (a writer changed the files during every attempt); open it again",
                                                ToStd(status.message())));
    }
    if (looks == kLooks) return seen;
    before = status;
  }
}

}  // namespace sepal
