#include "db/format/system_row.h"

#include "db/format/batch_format.h"

namespace sepal {

std::string SystemRowKey(SystemRowKind kind, std::string_view name) {
  std::string key(1, static_cast<char>(kind));
  return key.append(name);
}

void PutSystemRow(std::string* batch, SystemRowKind kind, std::string_view name, std::string_view value) {
  AppendBatchEntry(batch, ValueKind::kPut, kSystemFamilyId, SystemRowKey(kind, name), value);
}

void DeleteSystemRow(std::string* batch, SystemRowKind kind, std::string_view name) {
  AppendBatchEntry(batch, ValueKind::kDelete, kSystemFamilyId, SystemRowKey(kind, name), {});
}

}  // namespace sepal
