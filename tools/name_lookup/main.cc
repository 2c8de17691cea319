// name_lookup: an example of a database of names. The logic is tools/name_lookup/name_lookup.
#include <iostream>

#include "tools/name_lookup/name_lookup.h"

int main(int argc, char** argv) { return sepal::tools::NameLookupMain(argc, argv, std::cin, std::cout, std::cerr); }
