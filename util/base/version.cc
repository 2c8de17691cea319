#include "sepal/version.h"

namespace sepal {

const char* VersionString() { return "0.1.0"; }

}  // namespace sepal
