// sepal filter size|build: how large a filter is, and making one.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "tools/sepal/database_access.h"
#include "tools/sepal/filter_access.h"
#include "tools/sepal/new_place.h"
#include "tools/terminal/cli.h"
#include "tools/terminal/verb.h"
#include "util/base/status.h"
#include "util/base/strings.h"

namespace sepal::tools {
namespace {

using filters::BloomLayout;
using filters::BloomShape;
using filters::FilterKind;

// Of a blocked filter (filter-format.md).
constexpr uint64_t kBlockBytes = 64;

const std::vector<std::string>& BloomKinds() {
  static const std::vector<std::string> kinds = {"blocked", "bloom", "partitioned", "counting"};
  return kinds;
}

// Counters stand in place of the bits of a partitioned filter.
BloomLayout LayoutOf(FilterKind kind) {
  return kind == FilterKind::kCountingBloom ? BloomLayout::kPartitioned : static_cast<BloomLayout>(kind);
}

struct Sizing {
  FilterKind kind = {};
  BloomShape shape = {};  // of counters, where there are some
  uint64_t unit_bits = 1;
  uint64_t keys = 0;
  double rate = 0;

  uint64_t bits() const { return shape.bits * unit_bits; }
  uint64_t bytes() const { return (bits() + 63) / 64 * 8; }
};

class FilterSizeVerb final : public Verb {
 public:
  void AddFlags(CLI::App* app) override {
    keys_flag_ = AddCount(app, "--keys", &keys_, "How many different keys", {.least = 1});
    rate_flag_ = AddRate(app, "--rate", &rate_, "The rate of false positives that is allowed");
    bytes_flag_ = AddBytes(app, "--bytes", &bytes_, "How much memory the filter may take");
    AddCount(app, "--hashes", &hashes_, "How many hashes (default: the best number)",
             {.least = 1, .most = filters::kMostProbes});
    app->add_option("--kind", kind_, "Only this kind: blocked, bloom, partitioned or counting (default: all four)")
        ->check(CLI::IsMember(BloomKinds()));
    AddCount(app, "--counter-bits", &counter_bits_, "Of a counting filter: 4 or 8")
        ->check(CLI::IsMember({4, 8}))
        ->capture_default_str();
  }

  absl::Status Run(const Streams& io) override {
    if (keys_flag_->empty() + rate_flag_->empty() + bytes_flag_->empty() != 1) {
      return absl::CancelledError("give two of --keys, --rate and --bytes: the third follows from them");
    }
    if (hashes_ > 0 && bytes_flag_->empty()) {
      return absl::CancelledError("--hashes needs --bytes: with --keys and --rate both are chosen");
    }
    std::vector<Sizing> sizings;
    std::vector<absl::Status> impossible;
    for (const std::string& name_of_kind : kind_.empty() ? BloomKinds() : std::vector<std::string>{kind_}) {
      const absl::StatusOr<Sizing> sizing = SizeOf(KindNamed(name_of_kind));
      if (sizing.ok()) sizings.push_back(*sizing);
      if (!sizing.ok()) impossible.push_back(AsUsage(sizing.status()));
    }
    if (sizings.empty()) return impossible.front();
    // That one kind cannot be so leaves the others.
    for (const absl::Status& why : impossible) io.err << "note: " << why.message() << "\n";
    json ? PrintJson(sizings, io.out) : PrintTable(sizings, io.out);
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<Sizing> SizeOf(FilterKind kind) const {
    Sizing sizing{.kind = kind, .keys = keys_, .rate = rate_};
    if (kind == FilterKind::kCountingBloom) sizing.unit_bits = static_cast<uint64_t>(counter_bits_);
    const BloomLayout layout = LayoutOf(kind);
    if (bytes_flag_->empty()) {
      ASSIGN_OR_RETURN(sizing.shape, BloomShape::For(keys_, rate_, layout));
      if (sizing.bits() / 8 > filters::kMostFilterBytes) {
        return absl::InvalidArgumentError(absl::StrFormat(
            "a %s filter for %u keys is too large: %u bytes, at most %u; allow a higher --rate, or split the keys",
            filters::NameOf(kind), keys_, sizing.bytes(), filters::kMostFilterBytes));
      }
    } else {
      ASSIGN_OR_RETURN(sizing.shape, ShapeOfBytes(layout, sizing.unit_bits));
      if (keys_flag_->empty()) sizing.keys = sizing.shape.KeysAt(rate_);
      if (sizing.keys == 0) {
        return absl::InvalidArgumentError(absl::StrFormat(
            "a %s filter of %u bytes holds no key at a rate of %g; give more --bytes, or a higher --rate",
            filters::NameOf(kind), bytes_, rate_));
      }
    }
    sizing.rate = sizing.shape.RateAt(sizing.keys);
    return sizing;
  }

  // Bytes that are too many are refused before they are counted in bits, which might overflow.
  absl::StatusOr<BloomShape> ShapeOfBytes(BloomLayout layout, uint64_t unit_bits) const {
    if (bytes_ == 0 || bytes_ > filters::kMostFilterBytes) {
      return absl::InvalidArgumentError(
          absl::StrFormat("a filter of %u bytes: 8 to %u are possible", bytes_, filters::kMostFilterBytes));
    }
    const uint64_t step = layout == BloomLayout::kBlocked ? kBlockBytes : sizeof(uint64_t);
    if (bytes_ < step) {
      return absl::InvalidArgumentError(
          absl::StrFormat("a filter of %u bytes: with that layout it has at least %u", bytes_, step));
    }
    const uint64_t units = bytes_ / step * step * 8 / unit_bits;
    const int most = layout == BloomLayout::kBlocked ? filters::kMostBlockedProbes : filters::kMostProbes;
    if (hashes_ > most) {
      return absl::InvalidArgumentError(absl::StrFormat("a blocked filter has at most %d hashes", most));
    }
    if (hashes_ > 0) return BloomShape{.layout = layout, .bits = units, .probes = hashes_};
    if (!keys_flag_->empty()) return BloomShape::OfBits(keys_, units, layout);
    // The number of hashes with which most keys fit.
    BloomShape best{.layout = layout, .bits = units, .probes = 1};
    uint64_t most_keys = 0;
    for (int probes = 1; probes <= most; ++probes) {
      const BloomShape shape{.layout = layout, .bits = units, .probes = probes};
      if (const uint64_t fit = shape.KeysAt(rate_); fit > most_keys) {
        most_keys = fit;
        best = shape;
      }
    }
    return best;
  }

  static void PrintTable(const std::vector<Sizing>& sizings, std::ostream& out) {
    out << absl::StrFormat("%-12s %14s %14s %9s %7s %14s %11s\n", "kind", "keys", "bits", "per key", "hashes", "bytes",
                           "rate");
    for (const Sizing& sizing : sizings) {
      out << absl::StrFormat("%-12s %14u %14u %9.2f %7d %14u %11.4g\n", filters::NameOf(sizing.kind), sizing.keys,
                             sizing.bits(), static_cast<double>(sizing.bits()) / static_cast<double>(sizing.keys),
                             sizing.shape.probes, sizing.bytes(), sizing.rate);
    }
  }

  void PrintJson(const std::vector<Sizing>& sizings, std::ostream& out) const {
    nlohmann::json line = JsonHead();
    line["filters"] = nlohmann::json::array();
    for (const Sizing& sizing : sizings) {
      line["filters"].push_back({{"kind", filters::NameOf(sizing.kind)},
                                 {"keys", sizing.keys},
                                 {"bits", sizing.bits()},
                                 {"hashes", sizing.shape.probes},
                                 {"bytes", sizing.bytes()},
                                 {"rate", sizing.rate}});
    }
    out << ToLine(line) << "\n";
  }

  uint64_t keys_ = 0, bytes_ = 0;
  double rate_ = 0;
  int hashes_ = 0, counter_bits_ = 4;
  std::string kind_;
  CLI::Option *keys_flag_ = nullptr, *rate_flag_ = nullptr, *bytes_flag_ = nullptr;
};

// Takes keys into a filter of one kind, as many as come.
class FilterBuilder {
 public:
  struct Parameters {
    FilterKind kind = FilterKind::kBlockedBloom;
    uint64_t keys = 0;  // 0: as many as there are
    double rate = 0.01;
    int counter_bits = 4;
    uint64_t seed = 0;
  };

  explicit FilterBuilder(const Parameters& parameters) : wanted_(parameters) {}

  absl::Status Build(const KeySource& source, std::ostream& err) {
    if (wanted_.kind == FilterKind::kStatic || (wanted_.keys == 0 && !source.Repeatable() && IsBloom())) {
      return BuildOfHashes(source, err);
    }
    uint64_t room = wanted_.keys;
    if (room == 0 && wanted_.kind == FilterKind::kScalableBloom) room = kFirstKeys;
    if (room == 0 && !source.Repeatable()) {
      return absl::CancelledError(absl::StrFormat(
          "how many keys %s holds is not known beforehand: give --keys, or take --kind scalable", source.Name()));
    }
    if (room == 0) {
      const auto count = [&room](std::string_view) { return ++room, absl::OkStatus(); };
      RETURN_IF_ERROR(source.ForEach("counted", err, count));
    }
    if (room == 0) return NoKeys(source);
    RETURN_IF_ERROR(Make(room));
    const auto add = [this](std::string_view key) -> absl::Status {
      ++taken_;
      const absl::Status added = filters::Add(&*filter_, key);
      if (!absl::IsResourceExhausted(added) || wanted_.kind != FilterKind::kFingerprintTable) return added;
      return absl::ResourceExhaustedError(
          absl::StrFormat("more keys came than the %u that the table holds; give more --keys", taken_ - 1));
    };
    RETURN_IF_ERROR(source.ForEach("added", err, add));
    return taken_ == 0 ? NoKeys(source) : absl::OkStatus();
  }

  const filters::AnyFilter& filter() const { return *filter_; }
  uint64_t taken() const { return taken_; }  // keys, also those that came again

 private:
  static constexpr uint64_t kFirstKeys = 1024;
  // Of tables of fingerprints at full load: sepal/filter/fingerprint_table.h.
  static constexpr double kRateOf8Bits = 0.032, kRateOf16Bits = 0.00013;

  bool IsBloom() const { return wanted_.kind <= FilterKind::kPartitionedBloom; }

  static absl::Status NoKeys(const KeySource& source) {
    return absl::InvalidArgumentError(absl::StrFormat("%s has no keys, and a filter needs some", source.Name()));
  }

  // Keys as 8 bytes each, so that the filter can be made once all are known.
  absl::Status BuildOfHashes(const KeySource& source, std::ostream& err) {
    std::vector<uint64_t> hashes;
    const auto take = [&](std::string_view key) {
      hashes.push_back(filters::KeyHash(key, wanted_.seed));
      return absl::OkStatus();
    };
    RETURN_IF_ERROR(source.ForEach("read", err, take));
    taken_ = hashes.size();
    if (hashes.empty()) return NoKeys(source);
    if (wanted_.kind == FilterKind::kStatic) {
      ASSIGN_OR_RETURN(const int width, WidthFor(0x1p-8, 0x1p-16));
      ASSIGN_OR_RETURN(filter_, filters::StaticFilter::BuildFromHashes(std::move(hashes), width, wanted_.seed));
      return absl::OkStatus();
    }
    std::sort(hashes.begin(), hashes.end());
    hashes.erase(std::unique(hashes.begin(), hashes.end()), hashes.end());
    RETURN_IF_ERROR(Make(hashes.size()));
    for (const uint64_t hash : hashes) std::get<filters::BloomFilter>(*filter_).AddHash(hash);
    return absl::OkStatus();
  }

  // The narrowest fingerprints whose rate is low enough.
  absl::StatusOr<int> WidthFor(double rate_of_8, double rate_of_16) const {
    if (wanted_.rate >= rate_of_8) return 8;
    if (wanted_.rate >= rate_of_16) return 16;
    return absl::CancelledError(absl::StrFormat("--kind %s has a rate of %.4g or %.4g, and not %g; take --kind bloom",
                                                filters::NameOf(wanted_.kind), rate_of_8, rate_of_16, wanted_.rate));
  }

  // An empty filter for so many keys.
  absl::Status Make(uint64_t keys) {
    switch (wanted_.kind) {
      case FilterKind::kCountingBloom:
      case FilterKind::kClassicBloom:
      case FilterKind::kBlockedBloom:
      case FilterKind::kPartitionedBloom:
        return AsUsage(MakeOfShape(keys));
      case FilterKind::kScalableBloom:
        return AsUsage(MakeScalable(keys));
      case FilterKind::kFingerprintTable: {
        ASSIGN_OR_RETURN(const int width, WidthFor(kRateOf8Bits, kRateOf16Bits));
        RETURN_IF_ERROR(CheckMemory(keys / 3 * 4 * static_cast<uint64_t>(width / 8)));
        return AsUsage(Take(filters::FingerprintTable::ForKeys(keys, width, wanted_.seed)));
      }
      case FilterKind::kAgeing:
      case FilterKind::kTwoGenerations:
      case FilterKind::kStatic:
      case FilterKind::kCountMin:
      case FilterKind::kHyperLogLog:
        break;
    }
    return absl::InternalError("no kind that takes keys one by one");
  }

  absl::Status MakeOfShape(uint64_t keys) {
    ASSIGN_OR_RETURN(const BloomShape shape, BloomShape::For(keys, wanted_.rate, LayoutOf(wanted_.kind)));
    if (wanted_.kind != FilterKind::kCountingBloom) {
      RETURN_IF_ERROR(CheckMemory(shape.bits / 8));
      return Take(filters::BloomFilter::Create(shape, wanted_.seed));
    }
    RETURN_IF_ERROR(CheckMemory(shape.bits / 8 * static_cast<uint64_t>(wanted_.counter_bits)));
    return Take(filters::CountingBloomFilter::Create(shape.bits, shape.probes, wanted_.counter_bits, wanted_.seed));
  }

  // Its first part has half of the rate.
  absl::Status MakeScalable(uint64_t keys) {
    ASSIGN_OR_RETURN(const BloomShape part, BloomShape::For(keys, wanted_.rate / 2, BloomLayout::kClassic));
    RETURN_IF_ERROR(CheckMemory(part.bits / 8));
    return Take(filters::ScalableBloomFilter::Create(keys, wanted_.rate, wanted_.seed));
  }

  template <class Filter>
  absl::Status Take(absl::StatusOr<Filter> filter) {
    RETURN_IF_ERROR(filter.status());
    filter_ = *std::move(filter);
    return absl::OkStatus();
  }

  // The system promises more memory than it has, and then ends the process.
  static absl::Status CheckMemory(uint64_t bytes) {
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (pages <= 0 || page <= 0) return absl::OkStatus();
    const uint64_t memory = static_cast<uint64_t>(pages) * static_cast<uint64_t>(page);
    if (bytes <= memory / 2) return absl::OkStatus();
    return absl::ResourceExhaustedError(absl::StrFormat(
        "the filter takes %s, and as much again when it is written, but the machine has %s; take fewer --keys or a "
        "higher --rate",
        HumanBytes(bytes), HumanBytes(memory)));
  }

  const Parameters wanted_;
  std::optional<filters::AnyFilter> filter_;
  uint64_t taken_ = 0;
};

class FilterBuildVerb final : public Verb {
 public:
  void AddFlags(CLI::App* app) override {
    CLI::Option* const file = app->add_option(
        "FILE", file_, "Keys, one a line, or a database that has them (default: standard input, as for -)");
    app->add_option("--output,-o", output_, "The filter to write; it appears once it is whole")->required();
    app->add_option("--from-db", place_.directory, "Take the keys of this database")->excludes(file);
    of_database_ = {app->add_option("--log-directory", place_.log_directory,
                                    "Directory of its write-ahead logs (default: as it was last opened)"),
                    app->add_option("--family", family_, "Its column family (default: default)"),
                    app->add_option("--prefix", prefix_, "Only keys with this prefix")};
    app->add_flag("--hex", hex_, "Lines and the prefix are given in hexadecimal");
    app->add_option(
           "--odd-lines", odd_lines_,
           "Lines that are empty, or end with a carriage return, or keys of 64 KiB or more: refuse, skip or take")
        ->check(CLI::IsMember({"refuse", "skip", "take"}))
        ->capture_default_str();
    AddRate(app, "--rate", &parameters_.rate, "The rate of false positives that is allowed")->capture_default_str();
    keys_flag_ = AddCount(app, "--keys", &parameters_.keys, "How many keys it is made for (default: those that come)",
                          {.least = 1});
    app->add_option("--kind", kind_, "blocked, bloom, partitioned, counting, scalable, fingerprints, or static")
        ->check(CLI::IsMember({"blocked", "bloom", "partitioned", "counting", "scalable", "fingerprints", "static"}))
        ->capture_default_str();
    counter_bits_flag_ =
        AddCount(app, "--counter-bits", &parameters_.counter_bits, "Of a counting filter: 4 or 8 (default: 4)")
            ->check(CLI::IsMember({4, 8}));
    AddCount(app, "--seed", &parameters_.seed, "Seed of the hash (default: 0); a secret one where keys may be hostile");
  }

  absl::Status Run(const Streams& io) override {
    parameters_.kind = KindNamed(kind_);
    if (!keys_flag_->empty() && parameters_.kind == FilterKind::kStatic) {
      return absl::CancelledError("--keys has no meaning for a static filter, which is of the keys that come");
    }
    if (!counter_bits_flag_->empty() && parameters_.kind != FilterKind::kCountingBloom) {
      return absl::CancelledError("--counter-bits needs --kind counting");
    }
    RETURN_IF_ERROR(FindSource());
    RETURN_IF_ERROR(CheckOutput(output_, file_));
    std::optional<FilterBuilder> builder;
    if (place_.directory.empty()) {
      ASSIGN_OR_RETURN(const KeyLines lines, KeyLines::Open(file_, hex_, io.in, OddLinesNamed(odd_lines_)));
      RETURN_IF_ERROR(builder.emplace(parameters_).Build(lines, io.err));
    } else {
      ASSIGN_OR_RETURN(const std::string prefix, BytesFrom(prefix_, hex_));
      RETURN_IF_ERROR(LookAt(place_, [&](DB* db) -> absl::Status {
        ASSIGN_OR_RETURN(std::shared_ptr<ColumnFamily> family, FamilyNamed(db, family_));
        const std::string of = prefix.empty() ? "" : absl::StrFormat(", with the prefix %s,", ShownKey(prefix));
        const DatabaseKeys keys(db, std::move(family), prefix, place_.directory + of);
        return builder.emplace(parameters_).Build(keys, io.err);
      }));
    }
    RETURN_IF_ERROR(WriteWhole(output_, filters::Serialize(builder->filter())));
    Tell(*builder, io);
    return absl::OkStatus();
  }

 private:
  static OddLines OddLinesNamed(std::string_view word) {
    if (word == "take") return OddLines::kTake;
    return word == "skip" ? OddLines::kSkip : OddLines::kRefuse;
  }

  // What FILE is: a directory is meant as a database.
  absl::Status FindSource() {
    std::error_code error;
    if (place_.directory.empty() && std::filesystem::is_directory(file_, error)) place_.directory = file_;
    if (!place_.directory.empty()) return absl::OkStatus();
    for (const CLI::Option* const flag : of_database_) {
      if (flag->empty()) continue;
      return absl::CancelledError(absl::StrFormat("%s needs a database, as FILE or with --from-db", flag->get_name()));
    }
    return absl::OkStatus();
  }

  void Tell(const FilterBuilder& builder, const Streams& io) const {
    const filters::FilterInfo info = filters::Describe(builder.filter());
    if (info.false_positive_rate > parameters_.rate * 1.1 && parameters_.keys < builder.taken()) {
      io.err << absl::StrFormat("note: %s came, and --keys is %u: the rate of false positives is %.4g, and not %g\n",
                                Counted(builder.taken(), "key"), parameters_.keys, info.false_positive_rate,
                                parameters_.rate);
    }
    if (!json) {
      io.out << absl::StrFormat("%s: %s filter of %s, %s; rate of false positives %.4g\n", output_,
                                filters::NameOf(info.kind), Counted(builder.taken(), "key"),
                                HumanBytes(info.memory_bytes), info.false_positive_rate);
      return;
    }
    nlohmann::json line = JsonHead();
    line["output"] = output_;
    line["keys_read"] = builder.taken();
    line.update(InfoJson(info));
    io.out << ToLine(line) << "\n";
  }

  Place place_;
  std::string file_, output_, family_, prefix_, kind_ = "blocked", odd_lines_ = "refuse";
  bool hex_ = false;
  FilterBuilder::Parameters parameters_;
  CLI::Option *keys_flag_ = nullptr, *counter_bits_flag_ = nullptr;
  std::vector<CLI::Option*> of_database_;  // flags that have a meaning for a database alone
};

}  // namespace

std::vector<VerbEntry> FilterMakingVerbs() {
  return {{"filter size", "how large a filter is, how many keys it holds, or its rate of false positives",
           "filter size --keys 1M --rate 0.001", MakeVerb<FilterSizeVerb>},
          {"filter build", "make a filter of lines, or of the keys of a database",
           "filter build weak-passwords.txt --rate 0.001 --output weak.filter", MakeVerb<FilterBuildVerb>}};
}

}  // namespace sepal::tools
