// The fixture of tests of memtables: entries are added and found like in the engine.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "db/state/memtable/memtable.h"
#include "tests/caseless_comparator.h"
#include "util/base/hash.h"

namespace sepal {

inline constexpr uint64_t kMemTableSeed = 0x5ea1;

inline const Comparator* CaseInsensitive() {
  static const CaselessComparator comparator;
  return &comparator;
}

inline void Add(MemTable* table, uint64_t sequence, std::string_view key, std::string_view value,
                ValueKind kind = ValueKind::kPut) {
  table->Add(SequenceNumber(sequence), kind, key, value, HashKey(key, table->hash_seed()));
}

inline std::optional<MemTable::Found> Find(const MemTable& table, std::string_view key,
                                           uint64_t visible = kMaxSequenceNumber.value()) {
  return table.Lookup(key, HashKey(key, table.hash_seed()), SequenceNumber(visible));
}

}  // namespace sepal
