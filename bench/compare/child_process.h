// Child processes of the comparison, none of which outlives its parent, however that ends.
#pragma once

#include <sys/types.h>

namespace sepal::compare {

// Like fork(): returns 0 in the child, which is killed when the calling thread ends. Ends this process if no child can
// be created.
pid_t ForkBoundChild();

}  // namespace sepal::compare
