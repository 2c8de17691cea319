#include "bench/compare/engine.h"

#include <unistd.h>

#include <iostream>

namespace sepal::compare {

void Fail(std::string_view what, std::string_view message) {
  std::cerr << "compare: " << what << ": " << message << std::endl;
  _exit(1);
}

}  // namespace sepal::compare
