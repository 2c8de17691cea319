// The cost of DB::CatchUp for a reader. Files lie in memory.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>

#include "absl/strings/str_format.h"
#include "sepal/db.h"
#include "sepal/simulation/memory_file_system.h"
#include "util/base/check.h"

namespace sepal {
namespace {

// After so many puts of 16 + 100 bytes.
void BM_CatchUp(benchmark::State& state) {
  MemoryFileSystem files;
  Options options;
  options.create_if_missing = true;
  options.env.file_system = &files;
  const std::unique_ptr<DB> writer = DB::Open(options, "beside").value();
  const std::string value(100, 'v');
  SEPAL_CHECK(writer->Put("first", value).ok());
  options.create_if_missing = false;
  options.read_only = true;
  const std::unique_ptr<DB> reader = DB::Open(options, "beside").value();
  SEPAL_CHECK(reader->CatchUp().ok());
  uint64_t number = 0;
  for (auto _ : state) {
    state.PauseTiming();
    for (int64_t i = 0; i < state.range(0); ++i) {
      SEPAL_CHECK(writer->Put(absl::StrFormat("%016u", number++ % 100'000), value).ok());
    }
    state.ResumeTiming();
    SEPAL_CHECK(reader->CatchUp().ok());
  }
}
BENCHMARK(BM_CatchUp)->Arg(0)->Arg(2000)->Iterations(200)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace sepal
