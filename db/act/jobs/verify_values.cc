#include "db/act/jobs/verify_values.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "db/format/value_reference.h"
#include "util/base/status.h"
#include "util/base/strings.h"

namespace sepal {
namespace {

constexpr uint64_t kWindowBytes = uint64_t{64} << 10;
// Limits of what is read at once.
constexpr size_t kMostReferences = 512;
constexpr size_t kMostKeyBytes = size_t{256} << 10;

struct Referred {
  ValueReference reference;
  std::string key;
};

absl::Status Named(const absl::Status& why, std::string_view key) {
  return Annotate(why, absl::StrFormat("the value of key \"%s\"", Printable(key)));
}

absl::Status CheckSome(std::vector<Referred>* some, ValueStore* values, const ValueCheck& check) {
  std::sort(some->begin(), some->end(), [](const Referred& a, const Referred& b) {
    return std::tie(a.reference.file, a.reference.offset) < std::tie(b.reference.file, b.reference.offset);
  });
  ValueFileRef open;  // so that each file is opened once
  for (const Referred& each : *some) {
    if (check.go_on != nullptr && !check.go_on(each.reference)) return absl::CancelledError("the check was ended");
    if (open == nullptr || open->number() != each.reference.file) open = values->Pin(each.reference.file);
    const absl::Status status = values->Verify(each.reference);
    if (!status.ok()) RETURN_IF_ERROR(check.bad(each.key, &each.reference, Named(status, each.key)));
  }
  some->clear();
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckValues(std::shared_ptr<const TableReader> table, ValueStore* values, const ValueCheck& check) {
  const std::unique_ptr<InternalIterator> entries =
      TableReader::NewIterator(std::move(table), TableReader::ReadKind::kCompaction, kWindowBytes);
  std::vector<Referred> some;
  size_t key_bytes = 0;
  for (entries->SeekToFirst(); entries->Valid(); entries->Advance()) {
    const ValueKind kind = entries->key().kind();
    if (!IsReference(kind)) continue;
    const std::string_view key = entries->key().user_key;
    const std::optional<ValueReference> reference = ReferenceOf(kind, entries->value());
    if (!reference.has_value()) {
      RETURN_IF_ERROR(check.bad(key, nullptr, Named(absl::DataLossError("what is no reference"), key)));
      continue;
    }
    some.push_back({*reference, std::string(key)});
    key_bytes += key.size();
    if (some.size() < kMostReferences && key_bytes < kMostKeyBytes) continue;
    RETURN_IF_ERROR(CheckSome(&some, values, check));
    key_bytes = 0;
  }
  RETURN_IF_ERROR(entries->status());
  return CheckSome(&some, values, check);
}

absl::Status VerifyValues(std::shared_ptr<const TableReader> table, const std::vector<ValueLinks>& links,
                          ValueStore* values, const std::function<void(const absl::Status&)>& on_damage) {
  if (links.empty()) return absl::OkStatus();
  absl::Status first;
  const auto tell = [&](const absl::Status& why) {
    if (on_damage != nullptr) on_damage(why);
    KeepFirst(&first, why);
  };
  const auto bad = [&](std::string_view, const ValueReference*, const absl::Status& why) {
    tell(why);
    return on_damage != nullptr && absl::IsDataLoss(why) ? absl::OkStatus() : why;
  };
  const absl::Status status = CheckValues(std::move(table), values, {.bad = bad});
  if (first.ok() && !status.ok()) tell(status);
  return first;
}

}  // namespace sepal
