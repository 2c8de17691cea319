// sepal: one command for databases. The logic is tools/sepal/sepal_command and the verbs beside it.
#include <iostream>

#include "tools/sepal/sepal_command.h"

int main(int argc, char** argv) { return sepal::tools::SepalMain(argc, argv, std::cin, std::cout, std::cerr); }
