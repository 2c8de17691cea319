// The database's own rows. They are entries of a hidden column family, the *system family*, so that they are logged,
// replayed, flushed, compacted, checkpointed and repaired like users' data, and change in one batch with it.
//
// Key: a byte for the kind of row, then its name. The kind determines the form of the value.
//
// | kind | row                  | name                        | value                  |
// |------|----------------------|-----------------------------|------------------------|
// | 1    | prepared transaction | that of the transaction     | prepared_transaction.h |
// | 2    | time mark            | sequence number, big-endian | time_mark.h            |
//
// Laws:
//   - the family has the highest id and the empty name, which users cannot give to a family. Its comparator is
//     bytewise, and its options are the defaults, whatever the program's are;
//   - the manifest says that there is one before any log holds a row, behind a feature that older versions refuse
//     (version_edit.h). A database that has never needed a row has no such family;
//   - each row is logged: no batch with one is written with `disable_wal`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "util/base/numbers.h"

namespace sepal {

inline constexpr ColumnFamilyId kSystemFamilyId{0xFFFFFFFF};
inline constexpr std::string_view kSystemFamilyName;

enum class SystemRowKind : uint8_t { kPreparedTransaction = 1, kTimeMark = 2 };

std::string SystemRowKey(SystemRowKind kind, std::string_view name);

// Add an update to a batch (batch_format.h) that sets the row to `value`, or removes it.
void PutSystemRow(std::string* batch, SystemRowKind kind, std::string_view name, std::string_view value);
void DeleteSystemRow(std::string* batch, SystemRowKind kind, std::string_view name);

}  // namespace sepal
