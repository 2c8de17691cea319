// Checksums of a key, a small record, a compressed and a plain block, and a batch. SEPAL_SIMD=portable measures the
// form without vectors.
#include <benchmark/benchmark.h>

#include <string>

#include "util/base/hash.h"

namespace sepal {
namespace {

void Checksum(benchmark::State& state) {
  const std::string bytes(static_cast<size_t>(state.range(0)), 'x');
  uint64_t seed = 0;
  for (auto _ : state) benchmark::DoNotOptimize(seed = Checksum64(bytes, seed));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * state.range(0));
}
BENCHMARK(Checksum)->Arg(16)->Arg(144)->Arg(1060)->Arg(2300)->Arg(4100)->Arg(11600);

void BlockChecksum(benchmark::State& state) {
  const std::string bytes(static_cast<size_t>(state.range(0)), 'x');
  for (auto _ : state) benchmark::DoNotOptimize(ChecksumWithTail(bytes, 1));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * state.range(0));
}
BENCHMARK(BlockChecksum)->Arg(2300)->Arg(4100);

}  // namespace
}  // namespace sepal
