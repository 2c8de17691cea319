// sepal: one command for databases. The logic is tools/sepal/sepal_command and the verbs beside it.
#include <unistd.h>

#include <iostream>
#include <istream>

#include "tools/sepal/sepal_command.h"
#include "tools/terminal/input_buffer.h"

int main(int argc, char** argv) {
  sepal::tools::InputBuffer input(STDIN_FILENO);
  std::istream in(&input);
  in.tie(&std::cout);
  return sepal::tools::SepalMain(argc, argv, in, std::cout, std::cerr);
}
