// The conditions under which a batch is written (DB::WriteIf): keys that exist, are absent, or have a certain value.
// Checking the conditions and writing the batch are one atomic step.
//
//   sepal::WriteConditions conditions;
//   conditions.Equals("owner", "worker 7");
//   conditions.Absent("finished");
//   sepal::WriteBatch batch;
//   batch.Put("finished", "yes");
//   absl::StatusOr<bool> written = db->WriteIf(conditions, batch);
//
// Not safe for concurrent use without external locking. Conditions may be used any number of times.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sepal/column_family.h"
#include "sepal/export.h"

namespace sepal {

class SEPAL_EXPORT WriteConditions {
 public:
  struct Condition {
    const ColumnFamily* family;  // null: the default one
    std::string key;
    bool present;
    std::optional<std::string> value;  // of a key that is present; none: any value will do
  };

  // `key` does not exist.
  WriteConditions& Absent(std::string_view key);
  // `key` exists, with any value.
  WriteConditions& Present(std::string_view key);
  // `key` exists with exactly this value.
  WriteConditions& Equals(std::string_view key, std::string_view value);

  // The same for another column family. The handle must live as long as the conditions are used.
  WriteConditions& Absent(const ColumnFamily& family, std::string_view key);
  WriteConditions& Present(const ColumnFamily& family, std::string_view key);
  WriteConditions& Equals(const ColumnFamily& family, std::string_view key, std::string_view value);

  void Clear() { conditions_.clear(); }
  // All of them must hold; an empty list always holds.
  const std::vector<Condition>& conditions() const { return conditions_; }

 private:
  std::vector<Condition> conditions_;
};

}  // namespace sepal
