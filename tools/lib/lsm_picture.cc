#include "tools/lib/lsm_picture.h"

#include <map>
#include <nlohmann/json.hpp>

#include "tools/lib/cli.h"
#include "util/strings.h"

namespace sepal::tools {
namespace {

// Where a key lies among all keys of its family: its eight bytes behind what all of them have in common, as a number.
class KeyNumbers {
 public:
  void Take(std::string_view key) {
    if (!any_) common_ = key;
    any_ = true;
    size_t same = 0;
    while (same < common_.size() && same < key.size() && common_[same] == key[same]) ++same;
    common_.resize(same);
  }
  double Of(std::string_view key) const {
    double number = 0;
    for (size_t i = common_.size(); i < common_.size() + 8; ++i) {
      number = number * 256 + (i < key.size() ? static_cast<unsigned char>(key[i]) : 0);
    }
    return number;
  }

 private:
  bool any_ = false;
  std::string common_;
};

nlohmann::json Drawn(const AddedTable& added, const KeyNumbers& keys) {
  const TableMetadata& table = added.table;
  return {{"number", table.number.value()},
          {"family", added.family.value()},
          {"bytes", table.size_bytes},
          {"raw_bytes", table.raw_bytes},
          {"entries", table.entries},
          {"tombstones", table.tombstones},
          {"from", keys.Of(table.smallest.user_key)},
          {"to", keys.Of(table.largest.user_key)},
          {"smallest", Printable(table.smallest.user_key, 48)},
          {"largest", Printable(table.largest.user_key, 48)},
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
  std::map<ColumnFamilyId, KeyNumbers> keys;
  for (const VersionEdit& edit : edits) {
    for (const AddedTable& added : edit.added_tables) {
      keys[added.family].Take(added.table.smallest.user_key);
      keys[added.family].Take(added.table.largest.user_key);
    }
  }
  nlohmann::json data = {{"schema_version", kJsonSchemaVersion},
                         {"directory", tree.place.directory},
                         {"families", nlohmann::json::array()},
                         {"tables", nlohmann::json::object()},
                         {"edits", nlohmann::json::array()},
                         {"snapshot_edits", SnapshotEdits(edits)},
                         {"fills", fills}};
  for (const auto& [id, family] : tree.families) {
    data["families"].push_back({{"id", id.value()}, {"name", Printable(family.created.name)}});
  }
  for (const VersionEdit& edit : edits) {
    nlohmann::json drawn = {{"add", nlohmann::json::array()}, {"remove", nlohmann::json::array()}};
    for (const RemovedTable& removed : edit.removed_tables) {
      drawn["remove"].push_back({{"number", removed.number.value()}, {"level", removed.level}});
    }
    for (const AddedTable& added : edit.added_tables) {
      data["tables"][std::to_string(added.table.number.value())] = Drawn(added, keys[added.family]);
      drawn["add"].push_back(
          {{"number", added.table.number.value()}, {"level", added.level}, {"run", added.table.run.value()}});
    }
    if (edit.last_sequence.has_value()) drawn["sequence"] = edit.last_sequence->value();
    data["edits"].push_back(std::move(drawn));
  }
  return data;
}

}  // namespace sepal::tools
