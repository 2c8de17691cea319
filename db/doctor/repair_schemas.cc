// The schemas of a repaired database's families, as far as the manifest has them.
#include <algorithm>

#include "db/doctor/repair.h"

namespace sepal {

void Repairing::SalvageSchemas(const VersionEdit& edit) {
  for (const FamilySchema& schema : edit.schemas) {
    const auto it = families_.find(schema.family);
    if (it != families_.end()) it->second.schema = schema;
  }
  for (const HistoryFloor& floor : edit.history_floors) {
    const auto it = families_.find(floor.family);
    if (it == families_.end()) continue;
    it->second.schema.history_floor = std::max(it->second.schema.history_floor, floor.sequence);
  }
}

std::map<ColumnFamilyId, SequenceNumber> Repairing::HistoryFloors() const {
  std::map<ColumnFamilyId, SequenceNumber> floors;
  for (const auto& [id, family] : families_) {
    if (family.schema.history_millis > 0) floors.emplace(id, family.schema.history_floor);
  }
  return floors;
}

}  // namespace sepal
