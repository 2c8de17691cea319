#include "db/act/jobs/verify_values.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "db/decide/visibility/visibility.h"
#include "db/format/value_reference.h"
#include "util/base/status.h"
#include "util/base/strings.h"

namespace sepal {

absl::Status VerifyValues(std::shared_ptr<const TableReader> table, const std::vector<ValueLinks>& links,
                          ValueStore* values) {
  if (links.empty()) return absl::OkStatus();
  constexpr uint64_t kWindowBytes = uint64_t{64} << 10;
  const std::unique_ptr<InternalIterator> entries =
      TableReader::NewIterator(std::move(table), TableReader::ReadKind::kCompaction, kWindowBytes);
  std::string value;
  for (entries->SeekToFirst(); entries->Valid(); entries->Advance()) {
    if (MeaningOf(entries->key().trailer) != Meaning::kReference) continue;
    const std::optional<ValueReference> reference = ParseValueReference(entries->value());
    const absl::Status status =
        reference.has_value() ? values->Read(*reference, &value) : absl::DataLossError("what is no reference");
    if (!status.ok()) {
      return Annotate(status, absl::StrFormat("the value of key \"%s\"", Printable(entries->key().user_key)));
    }
  }
  return entries->status();
}

}  // namespace sepal
