// The database's own rows (db/format/system_row.h).
#include <functional>
#include <utility>

#include "absl/strings/str_format.h"
#include "db/engine/face/engine.h"
#include "util/base/status.h"

namespace sepal {

std::shared_ptr<FamilyHandle> Engine::SystemFamily() const {
  FamilyRef family = FamilyOfId(kSystemFamilyId);
  return family != nullptr ? NewHandle(std::move(family)) : nullptr;
}

absl::Status Engine::AllowSystemRows() {
  RETURN_IF_ERROR(CheckWritable());
  if (SystemFamily() != nullptr) [[likely]]
    return absl::OkStatus();
  MutexLock admin_lock(&admin_mutex_);
  if (close_begun_) return NotOpen();
  if (SystemFamily() != nullptr) return absl::OkStatus();  // another thread has made it first
  return AddFamily(kSystemFamilyId, kSystemFamilyName, ColumnFamilyOptions()).status();
}

absl::StatusOr<std::optional<std::string>> Engine::ReadSystemRow(SystemRowKind kind, std::string_view name) {
  RETURN_IF_ERROR(CheckOpen());
  const std::shared_ptr<FamilyHandle> rows = SystemFamily();
  if (rows == nullptr) return std::nullopt;
  absl::StatusOr<std::string> value = Get(*rows, SystemRowKey(kind, name), kDefaultReadOptions);
  if (absl::IsNotFound(value.status())) return std::nullopt;
  RETURN_IF_ERROR(value.status());
  return *std::move(value);
}

absl::Status Engine::VisitSystemRows(
    SystemRowKind kind, const std::function<absl::Status(std::string_view name, std::string_view value)>& look) {
  RETURN_IF_ERROR(CheckOpen());
  const std::shared_ptr<FamilyHandle> rows = SystemFamily();
  if (rows == nullptr) return absl::OkStatus();
  const std::string prefix = SystemRowKey(kind, "");
  // Prepared transactions may be so large that only one fits into memory, so their names are collected first.
  const bool large = kind == SystemRowKind::kPreparedTransaction;
  std::vector<std::string> names;
  const std::unique_ptr<Iterator> it = NewIterator(*rows, {.keys_only = large});
  for (it->Seek(prefix); it->Valid() && it->key().starts_with(prefix); it->Next()) {
    const std::string_view name = it->key().substr(prefix.size());
    if (large) {
      names.emplace_back(name);
    } else {
      RETURN_IF_ERROR(look(name, it->value()));
    }
  }
  RETURN_IF_ERROR(it->status());
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(const std::optional<std::string> value, ReadSystemRow(kind, name));
    if (value.has_value()) RETURN_IF_ERROR(look(name, *value));
  }
  return absl::OkStatus();
}

}  // namespace sepal
