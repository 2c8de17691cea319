#include "db/act/flush_job.h"

#include <utility>
#include <vector>

#include "db/decide/retention.h"
#include "table/merging_iterator.h"
#include "util/status.h"

namespace sepal {

absl::StatusOr<std::optional<TableMetadata>> FlushMemTables(const TableOutputContext& context,
                                                            std::span<const std::shared_ptr<const MemTable>> memtables,
                                                            std::vector<SequenceNumber> snapshots) {
  std::vector<std::unique_ptr<InternalIterator>> children;
  for (const std::shared_ptr<const MemTable>& memtable : memtables) children.push_back(memtable->NewIterator());
  const std::unique_ptr<InternalIterator> entries = NewMergingIterator(context.order, std::move(children));

  std::unique_ptr<TableOutput> output;
  Retention retention({.order = context.order, .snapshots = std::move(snapshots), .bottommost = false});
  const auto emit = [&](InternalKeyView key, std::string_view value, bool) -> absl::Status {
    if (output == nullptr) {
      ASSIGN_OR_RETURN(output, TableOutput::Create(context, /*level=*/0));
    }
    return output->Add(key, value);
  };
  for (entries->SeekToFirst(); entries->Valid(); entries->Next()) {
    RETURN_IF_ERROR(retention.Add(entries->key(), entries->value(), emit));
  }
  RETURN_IF_ERROR(entries->status());
  RETURN_IF_ERROR(retention.Finish(emit));
  if (output == nullptr) return std::nullopt;
  ASSIGN_OR_RETURN(TableMetadata table, output->Finish(RunNumber(0)));
  table.run = RunNumber(table.number.value());
  return table;
}

}  // namespace sepal
