// Reads and checks all values that a table refers to.
//
// They are read in file order, some hundreds at a time. Cost: a pass over the table, and the bytes of its values;
// memory for those references, whatever the values' sizes.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "db/act/files/value_store.h"
#include "db/format/value_reference.h"
#include "table/file/table_reader.h"

namespace sepal {

struct ValueCheck {
  // Called before each value is read; if it returns false, the check ends with Cancelled. May be null.
  std::function<bool(const ValueReference& reference)> go_on = nullptr;
  // Called for a value that is missing, damaged, or cannot be read: the status names key, file and offset. An error
  // ends the check, which returns it. `reference` is null if the bytes are not a reference.
  std::function<absl::Status(std::string_view key, const ValueReference* reference, const absl::Status& why)> bad;
};
// Other errors are those of reading the table.
absl::Status CheckValues(std::shared_ptr<const TableReader> table, ValueStore* values, const ValueCheck& check);

// Returns the error of the first bad value; ok at once for a table without `links`. With `on_damage`, reports each
// damaged value and continues.
absl::Status VerifyValues(std::shared_ptr<const TableReader> table, const std::vector<ValueLinks>& links,
                          ValueStore* values, const std::function<void(const absl::Status&)>& on_damage = nullptr);

}  // namespace sepal
