// db_bench: measures the engine. The logic is tools/lib/db_bench_*.
#include <iostream>

#include "tools/db_bench/db_bench_runner.h"

int main(int argc, char** argv) { return sepal::tools::DbBenchMain(argc, argv, std::cout, std::cerr); }
