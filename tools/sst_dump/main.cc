// sst_dump: inspects table files. The logic is tools/sst_dump/sst_dump*.
#include <iostream>

#include "tools/sst_dump/sst_dump.h"

int main(int argc, char** argv) { return sepal::tools::SstDumpMain(argc, argv, std::cout, std::cerr); }
