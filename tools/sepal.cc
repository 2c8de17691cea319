// sepal: one command for databases. The logic is tools/lib/sepal_command and the verbs beside it.
#include <iostream>

#include "tools/lib/sepal_command.h"

int main(int argc, char** argv) { return sepal::tools::SepalMain(argc, argv, std::cin, std::cout, std::cerr); }
