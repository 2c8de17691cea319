// Pieces of one job, worked on side by side.
#pragma once

#include <cstddef>
#include <functional>

#include "sepal/env.h"

namespace sepal {

// Calls `work` once with each number below `count`, and returns when all calls have. The calling thread takes numbers
// one after another, and so do up to `count` - 1 helpers on the executor: nothing waits for a thread that it does not
// get, and a helper that starts late finds nothing and touches nothing. `work` is called from several threads.
void WorkSideBySide(Executor* executor, Executor::Priority priority, size_t count,
                    const std::function<void(size_t)>& work);

}  // namespace sepal
