// The guards and lanes of a database's tables, for the page of filters.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "db/format/file_names.h"
#include "sepal/file_system.h"
#include "sepal/filter/bloom.h"
#include "table/file/table_reader.h"
#include "tools/files/tool_files.h"
#include "tools/sepal/pictures/filter_page.h"
#include "util/base/status.h"

namespace sepal::tools {
namespace {

// Neighbouring blocks of a large table are shown as one.
constexpr size_t kMostGroups = 512;

struct LaneSums {
  uint64_t blocks = 0, keys = 0, bits = 0;
  double bits_set = 0, rates = 0;  // of each key: the rate of its block's lane

  void Add(const LaneSums& other) {
    blocks += other.blocks;
    keys += other.keys;
    bits += other.bits;
    bits_set += other.bits_set;
    rates += other.rates;
  }
  double Fill() const { return bits == 0 ? 0 : bits_set / static_cast<double>(bits); }
  double Rate() const { return keys == 0 ? 1 : rates / static_cast<double>(keys); }
};

LaneSums SumsOf(const TableReader::BlockInfo& block) {
  const double rate = block.lane_bits == 0 ? 1 : std::pow(block.lane_fill, block.lane_probes);
  return {.blocks = 1,
          .keys = block.keys,
          .bits = block.lane_bits,
          .bits_set = block.lane_fill * static_cast<double>(block.lane_bits),
          .rates = rate * block.keys};
}

nlohmann::json GroupsOf(const std::vector<LaneSums>& blocks) {
  nlohmann::json groups = nlohmann::json::array();
  const size_t count = std::min(kMostGroups, blocks.size());
  for (size_t i = 0; i < count; ++i) {
    const size_t first = blocks.size() * i / count, end = blocks.size() * (i + 1) / count;
    LaneSums sums;
    for (size_t block = first; block < end; ++block) sums.Add(blocks[block]);
    groups.push_back({{"first", first},
                      {"blocks", sums.blocks},
                      {"keys", sums.keys},
                      {"bits", sums.bits},
                      {"fill", sums.Fill()},
                      {"rate", sums.Rate()}});
  }
  return groups;
}

// The rate of a guard is that of as many keys in as many bits, in lines of 512.
double GuardRate(const TableReader::GuardInfo& guard) {
  return filters::BloomShape{.layout = filters::BloomLayout::kBlocked, .bits = guard.bits, .probes = guard.probes}
      .RateAt(guard.keys);
}

class TableFilters {
 public:
  TableFilters(const Tree& tree, std::function<void(uint64_t)> read) : tree_(tree), read_(std::move(read)) {}

  absl::StatusOr<nlohmann::json> Collect() {
    ASSIGN_OR_RETURN(directory_, ToolFiles()->OpenDirectory(tree_.place.directory, /*create=*/false));
    nlohmann::json families = nlohmann::json::array();
    for (const auto& [id, family] : tree_.families) {
      if (family.version == nullptr) continue;
      ASSIGN_OR_RETURN(nlohmann::json shown, FamilyJson(family));
      families.push_back(std::move(shown));
    }
    return nlohmann::json{{"directory", tree_.place.directory}, {"families", std::move(families)}};
  }

 private:
  // Of the tables of a run, of which an absent key is asked of one.
  struct RunSums {
    uint64_t keys = 0;
    double rates = 0;
  };

  absl::StatusOr<nlohmann::json> FamilyJson(const FamilyTree& family) {
    nlohmann::json tables = nlohmann::json::array();
    std::map<std::pair<int, RunNumber>, RunSums> runs;
    for (const AddedTable& added : family.tables) {
      const absl::StatusOr<std::shared_ptr<TableReader>> reader = OpenTableOf(directory_.get(), added.table);
      if (absl::IsNotFound(reader.status())) continue;
      RETURN_IF_ERROR(reader.status());
      ASSIGN_OR_RETURN(nlohmann::json table, TableJsonOf(added, **reader));
      RunSums& run = runs[{added.level, added.table.run}];
      run.keys += table.at("keys").get<uint64_t>();
      run.rates += table.at("rate").get<double>() * table.at("keys").get<double>();
      tables.push_back(std::move(table));
    }
    double reads = 0;
    for (const auto& [place, run] : runs) reads += run.keys == 0 ? 0 : run.rates / static_cast<double>(run.keys);
    return nlohmann::json{
        {"name", family.created.name}, {"runs", runs.size()}, {"absent_reads", reads}, {"tables", std::move(tables)}};
  }

  absl::StatusOr<nlohmann::json> TableJsonOf(const AddedTable& added, const TableReader& reader) {
    std::vector<LaneSums> blocks;
    LaneSums all;
    RETURN_IF_ERROR(reader.ForEachBlock([&](const TableReader::BlockInfo& block) {
      blocks.push_back(SumsOf(block));
      all.Add(blocks.back());
      bytes_read_ += block.handle.size;
      read_(bytes_read_);
      return absl::OkStatus();
    }));
    ASSIGN_OR_RETURN(const std::optional<TableReader::GuardInfo> guard, reader.ReadGuardInfo());
    nlohmann::json table = {{"number", added.table.number.value()},
                            {"name", TableFileName(added.table.number)},
                            {"level", added.level},
                            {"keys", all.keys},
                            {"blocks", all.blocks},
                            {"lane_bits", all.bits},
                            {"lane_rate", all.Rate()},
                            {"guard", nullptr},
                            {"rate", all.Rate()},
                            {"groups", GroupsOf(blocks)}};
    if (guard.has_value()) {
      const double rate = GuardRate(*guard);
      table["guard"] = {{"bits", guard->bits}, {"keys", guard->keys}, {"fill", guard->fill}, {"rate", rate}};
      table["rate"] = rate * all.Rate();
    }
    return table;
  }

  const Tree& tree_;
  const std::function<void(uint64_t)> read_;
  std::unique_ptr<Directory> directory_;
  uint64_t bytes_read_ = 0;
};

}  // namespace

absl::StatusOr<nlohmann::json> TableFiltersData(const Tree& tree, const std::function<void(uint64_t)>& read) {
  return TableFilters(tree, read).Collect();
}

}  // namespace sepal::tools
