#include "db/engine/transaction/read_through.h"

#include <optional>
#include <utility>

#include "db/engine/read/prefix_bounds.h"
#include "db/engine/transaction/overlay_iterator.h"
#include "util/base/status.h"

namespace sepal {

namespace {

using Value = absl::StatusOr<std::string>;

absl::Status Absent() { return absl::Status(absl::StatusCode::kNotFound, {}); }

bool IsDecided(const BatchIndex::Said& said) { return said.meaning.has_value() && !said.needs_base; }

// Returns the key's value, when the database has `base`.
Value Over(const Family& family, std::string_view key, BatchIndex::Said* said, Value base) {
  if (!said->meaning.has_value() || (!base.ok() && !absl::IsNotFound(base.status()))) return base;
  ASSIGN_OR_RETURN(std::optional<std::string> value,
                   ValueOver(family, key, said, base.ok() ? std::optional<std::string_view>(*base) : std::nullopt));
  if (!value.has_value()) return Absent();
  return *std::move(value);
}

bool HadOperands(const BatchIndex& batch, ColumnFamilyId family) {
  const BatchIndex::Part* const part = batch.Find(family);
  return part != nullptr && part->had_operands;
}

}  // namespace

Value GetThrough(const BatchIndex& batch, const Below& below, std::string_view key, ReadNote note) {
  BatchIndex::Said said = batch.Read(below.family->id, key);
  if (IsDecided(said)) return Over(*below.family, key, &said, Absent());
  RETURN_IF_ERROR(note(key));
  return Over(*below.family, key, &said, below.database->Get(below.handle, key, below.options));
}

std::vector<Value> MultiGetThrough(const BatchIndex& batch, const Below& below, std::span<const std::string_view> keys,
                                   ReadNote note) {
  std::vector<Value> results(keys.size(), Absent());
  std::vector<std::string_view> wanted;
  std::vector<size_t> places;
  std::vector<BatchIndex::Said> over;
  for (size_t i = 0; i < keys.size(); ++i) {
    BatchIndex::Said said = batch.Read(below.family->id, keys[i]);
    if (IsDecided(said)) {
      results[i] = Over(*below.family, keys[i], &said, Absent());
    } else if (absl::Status noted = note(keys[i]); !noted.ok()) {
      results[i] = std::move(noted);
    } else {
      wanted.push_back(keys[i]);
      places.push_back(i);
      over.push_back(std::move(said));
    }
  }
  ReadOptions read = below.options;
  if (HadOperands(batch, below.family->id)) read.key_filter = nullptr;
  std::vector<Value> found = below.database->MultiGet(below.handle, wanted, read);
  for (size_t i = 0; i < found.size(); ++i) {
    results[places[i]] = Over(*below.family, wanted[i], &over[i], std::move(found[i]));
  }
  return results;
}

std::unique_ptr<Iterator> NewIteratorThrough(std::shared_ptr<Core> core, std::shared_ptr<const BatchIndex> batch,
                                             const Below& below, std::shared_ptr<RangeReads> reads) {
  ReadOptions read = below.options;
  if (HadOperands(*batch, below.family->id)) read.key_filter = nullptr;
  std::unique_ptr<Iterator> base = below.database->NewIterator(below.handle, read);
  if (!base->status().ok()) return base;
  Overlay overlay{.core = std::move(core),
                  .batch = std::move(batch),
                  .family = below.family,
                  .lower_bound = read.lower_bound,
                  .upper_bound = read.upper_bound,
                  .keys_only = read.keys_only,
                  .reads = std::move(reads)};
  NarrowToPrefix(read.prefix, &overlay.lower_bound, &overlay.upper_bound);
  return NewOverlayIterator(std::move(overlay), std::move(base));
}

}  // namespace sepal
