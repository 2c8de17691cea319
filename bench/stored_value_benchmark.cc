// The cost of finding that a value does not compress (db/format/stored_value.h), beside a copy of it.
#include <benchmark/benchmark.h>

#include <cstring>
#include <string>

#include "db/format/stored_value.h"
#include "util/base/random.h"

namespace sepal {
namespace {

std::string Noise(size_t bytes) {
  Random random(1);
  std::string noise(bytes, '\0');
  for (char& byte : noise) byte = static_cast<char>(random.Next());
  return noise;
}

void BM_StoreNoise(benchmark::State& state) {
  const std::string value = Noise(static_cast<size_t>(state.range(1)));
  for (auto _ : state) {
    const CompressedValue compressed(static_cast<CompressionKind>(state.range(0)), value);
    benchmark::DoNotOptimize(compressed.stored().bytes.data());
  }
}
BENCHMARK(BM_StoreNoise)->ArgNames({"codec", "bytes"})->ArgsProduct({{1, 2, 3}, {4 << 10, 64 << 10}});

void BM_CopyNoise(benchmark::State& state) {
  const std::string value = Noise(static_cast<size_t>(state.range(0)));
  std::string to(value.size(), '\0');
  for (auto _ : state) {
    std::memcpy(to.data(), value.data(), value.size());
    benchmark::ClobberMemory();
  }
}
BENCHMARK(BM_CopyNoise)->ArgName("bytes")->Arg(4 << 10)->Arg(64 << 10);

}  // namespace
}  // namespace sepal
