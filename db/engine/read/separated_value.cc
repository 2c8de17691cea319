#include "db/engine/read/separated_value.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "db/format/value_reference.h"
#include "table/file/table_writer.h"
#include "util/base/status.h"
#include "util/base/strings.h"

namespace sepal {

namespace {

absl::Status OfKey(const absl::Status& status, std::string_view key) {
  return Annotate(status, absl::StrFormat("the value of key \"%s\"", Printable(key)));
}

absl::StatusOr<ValueReference> Parse(const Core& core, std::string_view bytes) {
  const std::optional<ValueReference> parsed = ParseValueReference(bytes);
  if (parsed.has_value()) [[likely]]
    return *parsed;
  return absl::DataLossError(absl::StrFormat("%s: an update refers to its value by what is no reference", core.path));
}

void Found(CachePin pin, PointResult* result) {
  result->kind = PointResult::Kind::kFound;
  result->value = pin.bytes();
  result->pin = std::move(pin);
  result->peek = {};
}

}  // namespace

absl::Status FetchValue(Core* core, std::string_view key, std::string_view reference, std::string* value) {
  const absl::StatusOr<ValueReference> parsed = Parse(*core, reference);
  if (!parsed.ok()) return OfKey(parsed.status(), key);
  if (const CachePin pin = core->values.FindCached(*parsed)) {
    value->assign(pin.bytes());
    return absl::OkStatus();
  }
  absl::Status status = core->values.Read(*parsed, value);
  if (status.ok()) [[likely]]
    return status;
  return OfKey(status, key);
}

absl::StatusOr<CachePin> FetchShown(Core* core, std::string_view key, std::string_view reference, bool fill_cache) {
  const absl::StatusOr<ValueReference> parsed = Parse(*core, reference);
  if (!parsed.ok()) return OfKey(parsed.status(), key);
  if (parsed->value_bytes() > kLoneValueBytes) RETURN_IF_ERROR(core->budget.CheckRoomToPin(parsed->value_bytes()));
  absl::StatusOr<CachePin> pin = core->values.Fetch(*parsed, fill_cache);
  if (!pin.ok()) return OfKey(pin.status(), key);
  return pin;
}

absl::Status FetchResult(Core* core, std::string_view key, const TableLookupOptions& options, PointResult* result) {
  if (options.cached_only) {
    result->kind = PointResult::Kind::kMaybe;
    return absl::OkStatus();
  }
  const absl::StatusOr<ValueReference> parsed = Parse(*core, result->value);
  if (!parsed.ok()) return OfKey(parsed.status(), key);
  absl::StatusOr<CachePin> pin = core->values.Fetch(*parsed, options.fill_cache);
  if (!pin.ok()) return OfKey(pin.status(), key);
  Found(*std::move(pin), result);
  return absl::OkStatus();
}

void FetchResults(Core* core, std::span<const LookupKey> keys, const TableLookupOptions& options,
                  std::span<PointResult> results, std::span<absl::Status> statuses) {
  std::vector<ValueReference> references;
  std::vector<size_t> of;
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i].kind != PointResult::Kind::kReference || !statuses[i].ok()) continue;
    const absl::StatusOr<ValueReference> parsed = Parse(*core, results[i].value);
    if (parsed.ok()) {
      references.push_back(*parsed);
      of.push_back(i);
    } else {
      statuses[i] = OfKey(parsed.status(), keys[i].user_key);
    }
  }
  core->values.FetchMany(references, options.fill_cache, [&](size_t n, absl::StatusOr<CachePin> pin) {
    const size_t i = of[n];
    if (pin.ok()) {
      Found(*std::move(pin), &results[i]);
    } else {
      statuses[i] = OfKey(pin.status(), keys[i].user_key);
    }
  });
}

absl::StatusOr<ValuePart> ReadPartOf(Core* core, std::string_view key, std::string_view reference, uint64_t offset,
                                     std::span<char> buffer, bool fill_cache) {
  const absl::StatusOr<ValueReference> parsed = Parse(*core, reference);
  if (!parsed.ok()) return OfKey(parsed.status(), key);
  const uint64_t bytes = parsed->value_bytes();
  const uint64_t there = offset < bytes ? bytes - offset : 0;
  const std::span<char> to = buffer.first(std::min<uint64_t>(buffer.size(), there));
  if (!to.empty()) {
    // The whole compressed value is in memory meanwhile.
    if (parsed->compressed() && bytes > kLoneValueBytes) RETURN_IF_ERROR(core->budget.CheckRoomToPin(bytes));
    const absl::Status status = core->values.ReadPart(*parsed, offset, to, fill_cache);
    if (!status.ok()) return OfKey(status, key);
  }
  return ValuePart{to.size(), bytes};
}

}  // namespace sepal
