// The cost of an entry in a merge of sorted runs, over the number of runs and the mean number of consecutive entries
// from one of them.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "table/block/block.h"
#include "table/iterate/merging_iterator.h"
#include "tests/table/block/block_fixture.h"
#include "tests/table/block/block_iterator.h"
#include "util/base/random.h"

namespace sepal {
namespace {

constexpr uint64_t kEntries = 200'000;
constexpr size_t kEntriesOfBlock = 36;

// Blocks one after another.
class MergedRun {
 public:
  void Add(uint64_t number) {
    last_key_ = absl::StrFormat("%016u", number);
    builder_.Add({last_key_, PackTrailer(SequenceNumber(number + 1), ValueKind::kPut)}, value_, 0);
    if (builder_.entries() == kEntriesOfBlock) Finish();
  }
  void Finish() {
    if (builder_.empty()) return;
    blocks_.emplace_back(builder_.Finish(/*continuation=*/false));
    last_keys_.push_back(last_key_);
    builder_.Reset();
  }
  const std::vector<PaddedBytes>& blocks() const { return blocks_; }
  const std::vector<std::string>& last_keys() const { return last_keys_; }

 private:
  const std::string value_ = std::string(100, 'v');
  BlockBuilder builder_{/*tags=*/false};
  std::string last_key_;
  std::vector<PaddedBytes> blocks_;
  std::vector<std::string> last_keys_;
};

class RunSources final : public ConcatenationSources {
 public:
  explicit RunSources(const MergedRun* run) : run_(run) {}
  size_t Count() const override { return run_->blocks().size(); }
  size_t Find(InternalKeyView target) const override {
    const std::vector<std::string>& keys = run_->last_keys();
    return static_cast<size_t>(std::lower_bound(keys.begin(), keys.end(), target.user_key) - keys.begin());
  }
  std::unique_ptr<InternalIterator> Open(size_t index) override {
    return NewBlockIterator(run_->blocks()[index].view(), KeyOrder());
  }

 private:
  const MergedRun* const run_;
};

// Arguments: runs, mean entries running from one of them.
void Merge(benchmark::State& state) {
  const auto count = static_cast<size_t>(state.range(0));
  Random random(1);
  std::vector<MergedRun> runs(count);
  size_t turn = 0;
  for (uint64_t number = 0; number < kEntries; ++number) {
    if (random.OneIn(static_cast<uint64_t>(state.range(1)))) turn = random.Uniform(count);
    runs[turn].Add(number);
  }
  for (MergedRun& run : runs) run.Finish();
  for (auto _ : state) {
    std::vector<std::unique_ptr<InternalIterator>> children;
    for (const MergedRun& run : runs) {
      children.push_back(NewConcatenatingIterator(std::make_unique<RunSources>(&run)));
    }
    const auto merge = NewMergingIterator(KeyOrder(), std::move(children), "0000000000");
    for (merge->SeekToFirst(); merge->Valid(); merge->Advance()) benchmark::DoNotOptimize(merge->value().data());
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * kEntries));
}
BENCHMARK(Merge)->ArgsProduct({{1, 2, 4, 8}, {1, 100}})->ArgNames({"runs", "running"})->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace sepal
