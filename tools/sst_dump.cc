// sst_dump: looks into table files. The logic is tools/lib/sst_dump*.
#include "tools/lib/sst_dump.h"

#include <iostream>

int main(int argc, char** argv) { return sepal::tools::SstDumpMain(argc, argv, std::cout, std::cerr); }
