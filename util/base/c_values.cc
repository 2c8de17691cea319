#include "util/base/c_values.h"

#include <cstdlib>
#include <string>

#include "sepal/c.h"
#include "util/base/check.h"

namespace sepal {

char* NewCopy(std::string_view bytes) {
  char* copy = static_cast<char*>(std::malloc(bytes.size() + 1));
  SEPAL_CHECK(copy != nullptr);
  if (!bytes.empty()) std::memcpy(copy, bytes.data(), bytes.size());
  copy[bytes.size()] = '\0';
  return copy;
}

bool SaveError(char** errptr, const absl::Status& status) {
  if (status.ok()) return false;
  std::free(*errptr);
  *errptr = NewCopy(status.ToString());
  return true;
}

}  // namespace sepal

extern "C" void sepal_free(void* ptr) { std::free(ptr); }
