// name_lookup: an example of a database of names. The logic is tools/lib/name_lookup.
#include "tools/lib/name_lookup.h"

#include <iostream>

int main(int argc, char** argv) { return sepal::tools::NameLookupMain(argc, argv, std::cin, std::cout, std::cerr); }
