#include "db/state/version/value_space.h"

#include "util/base/check.h"

namespace sepal {

void ValueSpace::Add(const TableMetadata& table) {
  for (const ValueLinks& links : table.value_links) live_bytes_[links.file] += links.bytes;
  if (!table.value_links.empty()) ++changes_;
}

void ValueSpace::Remove(const TableMetadata& table) {
  for (const ValueLinks& links : table.value_links) {
    const auto it = live_bytes_.find(links.file);
    SEPAL_CHECK(it != live_bytes_.end() && it->second >= links.bytes);
    it->second -= links.bytes;
    if (it->second == 0) live_bytes_.erase(it);
  }
  if (!table.value_links.empty()) ++changes_;
}

void ValueSpace::AddAll(const Version& version) {
  if (version.ValueBytes() == 0) return;
  for (const TableRef& table : version.Tables()) Add(table->metadata());
}

void ValueSpace::RemoveAll(const Version& version) {
  if (version.ValueBytes() == 0) return;
  for (const TableRef& table : version.Tables()) Remove(table->metadata());
}

}  // namespace sepal
