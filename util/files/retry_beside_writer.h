// Looking at files that another process writes meanwhile.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "util/base/strings.h"

namespace sepal {

// Beside a live writer files come, grow and go between two looks, which may pass for damage or for nothing there.
// `look` gives a StatusOr; while it finds such a thing it is called again, 8 times at most. What the last two looks
// agree on is so. If they do not agree, the writer was faster every time: `Aborted`.
template <typename Look>
auto LookAgain(Look look) -> decltype(look()) {
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
