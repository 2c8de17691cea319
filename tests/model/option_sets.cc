#include "tests/model/option_sets.h"

#include "absl/strings/str_format.h"
#include "db/decide/compaction/compaction_policy.h"
#include "sepal/merge_operator.h"
#include "tests/caseless_comparator.h"
#include "tests/db/engine/test_database.h"
#include "util/base/hash.h"

namespace sepal::model {

namespace {

class ReverseComparator final : public Comparator {
 public:
  int Compare(std::string_view a, std::string_view b) const override { return b.compare(a); }
  std::string_view Name() const override { return "test.reverse"; }
  bool EqualMeansIdentical() const override { return true; }
};

// Appends as the library's operator does, and cannot combine operands.
class AppendApart final : public MergeOperator {
 public:
  std::string_view Name() const override { return append_->Name(); }
  absl::Status Merge(std::string_view key, std::optional<std::string_view> base,
                     std::span<const std::string_view> operands, std::string* value) const override {
    return append_->Merge(key, base, operands, value);
  }

 private:
  const std::shared_ptr<const MergeOperator> append_ = MergeOperators::Append(";");
};

template <class T, size_t n>
T Choose(Random* random, const T (&choices)[n]) {
  return choices[random->Uniform(n)];
}

constexpr CompressionKind kCompressions[] = {CompressionKind::kNone, CompressionKind::kSnappy, CompressionKind::kLz4,
                                             CompressionKind::kZstd};

}  // namespace

const Comparator* RandomComparator(Random* random) {
  static const ReverseComparator reverse;
  static const CaselessComparator caseless;
  const Comparator* const all[] = {BytewiseComparator(), BytewiseComparator(), &reverse, &caseless};
  return Choose(random, all);
}

void RandomizeFamily(Random* random, ColumnFamilyOptions* options) {
  static const std::shared_ptr<const MergeOperator> merges[] = {MergeOperators::Append(";"),
                                                                std::make_shared<AppendApart>()};
  // Both have one name: what one has folded the other reads.
  options->merge_operator = Choose(random, merges);
  options->compaction_style =
      Choose(random, {CompactionStyle::kLazyLeveling, CompactionStyle::kLeveled, CompactionStyle::kUniversal});
  options->max_space_amplification = Choose(random, {1.0, 1.5, 2.0, 100.0});
  options->separate_from = Choose<size_t>(random, {0, 0, 64, 100});
  options->last_level_inline_below = Choose<size_t>(random, {0, 0, 90, 1000});
  options->compression = Choose(random, kCompressions);
  options->compression_per_level.clear();
  if (random->OneIn(3)) {
    for (uint64_t levels = 1 + random->Uniform(3); levels > 0; --levels) {
      options->compression_per_level.push_back(Choose(random, kCompressions));
    }
  }
  options->block_bytes = Choose<size_t>(random, {256, 256, 300, 512, 1024, 4096});
  const FilterPolicy filters[] = {FilterPolicy{},
                                  FilterPolicy::None(),
                                  {.lane_bits_per_key = 8, .guard_bits_per_key = 0},
                                  {.lane_bits_per_key = 0, .guard_bits_per_key = 5},
                                  {.lane_bits_per_key = 1, .guard_bits_per_key = 1},
                                  FilterPolicy::FromFalsePositiveRate(0.001)};
  options->filter_policy = Choose(random, filters);
}

Tuning RandomTuning(Random* random) {
  Tuning tuning = SmallTuning();
  tuning.memtable_bytes = Choose<size_t>(random, {8 << 10, 16 << 10, 32 << 10});
  tuning.memtable_limit_bytes = tuning.memtable_bytes * (2 + random->Uniform(4));
  tuning.table_bytes = Choose<size_t>(random, {2 << 10, 4 << 10, 8 << 10, 16 << 10});
  tuning.blocks_per_leaf_page = Choose<uint32_t>(random, {1, 2, 4, 16});
  tuning.write_buffer_bytes = Choose<size_t>(random, {512, 4096});
  tuning.runs_per_level = static_cast<int>(2 + random->Uniform(3));
  tuning.fanout = static_cast<int>(2 + random->Uniform(4));
  tuning.log_limit_bytes = tuning.memtable_bytes * (1 + random->Uniform(4));
  tuning.manifest_limit_bytes = Choose<uint64_t>(random, {512, 2048, 1 << 20});
  tuning.copy_value_bytes = Choose<size_t>(random, {0, 16, 512});
  tuning.log_ring_bytes = random->OneIn(3) ? 0 : uint64_t{4} << (10 + random->Uniform(3));
  tuning.unread_runs = Choose(random, {0, 3, 26});
  tuning.early_flushes = random->OneIn(2);
  tuning.value_file_bytes = Choose<uint64_t>(random, {256, 2048, 32 << 10});
  return tuning;
}

std::string Describe(const ColumnFamilyOptions& options, const Tuning& tuning) {
  std::string levels;
  for (const CompressionKind kind : options.compression_per_level) {
    levels += " " + std::to_string(static_cast<int>(kind));
  }
  return absl::StrFormat(
      "comparator %s, %s, space up to %.1f, separate from %u, compression %d (by level:%s), block_bytes %u, lane %.1f "
      "guard %.1f\n%s",
      options.comparator->Name(), Name(options.compaction_style), options.max_space_amplification,
      options.separate_from, static_cast<int>(options.compression), levels, options.block_bytes,
      options.filter_policy.lane_bits_per_key, options.filter_policy.guard_bits_per_key, tuning.ToString());
}

}  // namespace sepal::model
