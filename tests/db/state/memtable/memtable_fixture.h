// What tests of memtables share: entries are added and found as the engine does it.
#pragma once

#include <cctype>
#include <optional>
#include <string>
#include <string_view>

#include "db/state/memtable/memtable.h"
#include "util/base/hash.h"

namespace sepal {

inline constexpr uint64_t kMemTableSeed = 0x5ea1;

// Letters of either case are the same; so equal keys may differ in bytes.
class CaseInsensitiveComparator final : public Comparator {
 public:
  int Compare(std::string_view a, std::string_view b) const override { return Lower(a).compare(Lower(b)); }
  std::string_view Name() const override { return "test.case-insensitive"; }

 private:
  static std::string Lower(std::string_view s) {
    std::string lower(s);
    for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return lower;
  }
};

inline const Comparator* CaseInsensitive() {
  static const CaseInsensitiveComparator comparator;
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
