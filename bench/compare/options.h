// The options of the comparison.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/compare/engine.h"

namespace sepal::compare {

struct CompareOptions {
  uint64_t entries = 2'000'000;
  int key_bytes = 16;
  int value_bytes = 100;
  double compression_ratio = 0.5;
  std::vector<int> threads = {1, 2};
  int rounds = 3;
  uint64_t memory_bytes = size_t{512} << 20;
  uint64_t memtable_bytes = size_t{64} << 20;
  double filter_bits_per_key = 10;
  bool compress = true;
  bool clustered = false;
  uint64_t separate_from = 0;
  bool direct_reads = false;
  uint64_t duration_seconds = 0;  // of overwrite; 0: as many operations as entries
  uint64_t writes_per_second = 20'000;
  uint64_t arrivals_per_second = 20'000;
  uint64_t open_loop_seconds = 10;
  uint64_t seed = 1;
  std::string directory = {};  // below which the comparison makes one of its own
  std::vector<EngineEntry> engines = {};
  std::vector<std::string> workloads = {};  // empty: all
  std::string json_path = {};
  bool markdown = false;
};

// The number in the key of an entry.
inline uint64_t NumberInKey(const CompareOptions& options, uint64_t number) {
  return options.clustered ? number / 1000 * 1'000'000 + number % 1000 : number;
}

// Ends the process on a mistake (status 2) and after --help (status 0).
CompareOptions ParseOptions(int argc, char** argv);

}  // namespace sepal::compare
