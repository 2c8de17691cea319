#include "tools/sepal/pictures/lsm_picture.h"

#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "sepal/env.h"
#include "tools/sepal/pictures/key_ranks.h"
#include "tools/terminal/cli.h"
#include "util/base/strings.h"

namespace sepal::tools {
namespace {

constexpr size_t kShownKeyBytes = 48;

nlohmann::json Drawn(const AddedTable& added, const KeyRanks& ranks) {
  const TableMetadata& table = added.table;
  return {{"number", table.number.value()},
          {"family", added.family.value()},
          {"bytes", table.size_bytes},
          {"raw_bytes", table.raw_bytes},
          {"entries", table.entries},
          {"tombstones", table.tombstones},
          {"from", ranks.Of(table.smallest.user_key)},
          {"to", ranks.Of(table.largest.user_key)},
          {"smallest", Escaped(table.smallest.user_key, kShownKeyBytes)},
          {"largest", Escaped(table.largest.user_key, kShownKeyBytes)},
          {"sequences", {table.lowest_sequence.value(), table.highest_sequence.value()}},
          {"created", table.creation_unix_micros}};
}

// How many edits at the front say what there was when the manifest was begun: one for the database, one for each
// family.
size_t SnapshotEdits(const std::vector<VersionEdit>& edits) {
  size_t count = edits.empty() ? 0 : 1;
  while (count < edits.size() && !edits[count].created_families.empty() && !edits[count].flushed_through.empty()) {
    ++count;
  }
  return count;
}

}  // namespace

nlohmann::json PictureData(const Tree& tree, const std::vector<VersionEdit>& edits, const nlohmann::json& fills) {
  std::map<ColumnFamilyId, std::vector<std::string>> keys;
  for (const VersionEdit& edit : edits) {
    for (const AddedTable& added : edit.added_tables) {
      keys[added.family].push_back(added.table.smallest.user_key);
      keys[added.family].push_back(added.table.largest.user_key);
    }
  }
  std::map<ColumnFamilyId, KeyRanks> ranks;
  for (auto& [family, some] : keys) ranks.emplace(family, std::move(some));
  nlohmann::json data = {{"schema_version", kJsonSchemaVersion},         {"directory", tree.place.directory},
                         {"unix_micros", Clock::System()->UnixMicros()}, {"families", nlohmann::json::array()},
                         {"tables", nlohmann::json::object()},           {"edits", nlohmann::json::array()},
                         {"snapshot_edits", SnapshotEdits(edits)},       {"fills", fills}};
  for (const auto& [id, family] : tree.families) {
    nlohmann::json bounds = nlohmann::json::array();
    if (const auto known = ranks.find(id); known != ranks.end()) {
      for (const std::string& key : known->second.keys()) bounds.push_back(Escaped(key, kShownKeyBytes));
    }
    data["families"].push_back(
        {{"id", id.value()}, {"name", Escaped(family.created.name)}, {"keys", std::move(bounds)}});
  }
  for (const VersionEdit& edit : edits) {
    nlohmann::json drawn = {{"add", nlohmann::json::array()}, {"remove", nlohmann::json::array()}};
    for (const RemovedTable& removed : edit.removed_tables) {
      drawn["remove"].push_back({{"number", removed.number.value()}, {"level", removed.level}});
    }
    for (const AddedTable& added : edit.added_tables) {
      data["tables"][std::to_string(added.table.number.value())] = Drawn(added, ranks.at(added.family));
      drawn["add"].push_back(
          {{"number", added.table.number.value()}, {"level", added.level}, {"run", added.table.run.value()}});
    }
    if (edit.last_sequence.has_value()) drawn["sequence"] = edit.last_sequence->value();
    data["edits"].push_back(std::move(drawn));
  }
  return data;
}

}  // namespace sepal::tools
