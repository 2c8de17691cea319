// Reads all values that a table refers to, and checks them.
//
// They are read in the order in which they lie, some hundreds at a time. Cost: a pass over the table, and the bytes of
// its values; memory for those references, whatever the values' sizes.
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
  // Before each value is read; false ends the check with Cancelled. Null: it goes on.
  std::function<bool(const ValueReference& reference)> go_on = nullptr;
  // Of a value that is not there, not as it was written, or cannot be read: the status names key, file and offset. An
  // error ends the check, which returns it. `reference`: null, the bytes are none.
  std::function<absl::Status(std::string_view key, const ValueReference* reference, const absl::Status& why)> bad;
};
// Other errors are those of reading the table.
absl::Status CheckValues(std::shared_ptr<const TableReader> table, ValueStore* values, const ValueCheck& check);

// The first bad value; ok at once for a table without `links`. With `on_damage` it tells of that, and goes on after
// damage to tell of all.
absl::Status VerifyValues(std::shared_ptr<const TableReader> table, const std::vector<ValueLinks>& links,
                          ValueStore* values, const std::function<void(const absl::Status&)>& on_damage = nullptr);

}  // namespace sepal
