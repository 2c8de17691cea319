// Processes of the comparison's own, none of which outlives the one that began it, however that ends.
#pragma once

#include <sys/types.h>

namespace sepal::compare {

// As fork(): 0 in the child, which is killed when the calling thread ends. Ends this process if there is none to be
// had.
pid_t ForkBoundChild();

}  // namespace sepal::compare
