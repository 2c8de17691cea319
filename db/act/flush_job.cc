#include "db/act/flush_job.h"

#include <algorithm>
#include <string>
#include <utility>

#include "db/decide/flush_splitter.h"
#include "db/decide/retention.h"
#include "table/merging_iterator.h"
#include "util/side_by_side.h"
#include "util/status.h"

namespace sepal {
namespace {

// A table of a flush that ends before its memtable does has at least this part of the memtable's bytes.
constexpr uint64_t kSmallestPartOfMemtable = 16;

// Where the parts behind the first begin: cut as the largest memtable's keys lie.
std::vector<std::string> CutIntoParts(const FlushInput& input) {
  if (input.executor == nullptr) return {};
  uint64_t bytes = 0;
  const MemTable* largest = input.memtables.front().get();
  for (const std::shared_ptr<const MemTable>& memtable : input.memtables) {
    bytes += memtable->DataBytes();
    if (memtable->EntryCount() > largest->EntryCount()) largest = memtable.get();
  }
  const uint64_t parts =
      std::min<uint64_t>(static_cast<uint64_t>(input.max_parts), bytes / input.context.tuning.part_bytes);
  return largest->CutKeys(parts);
}

// What one part wrote, whether or not it came to its end.
struct FlushedPart {
  std::vector<TableMetadata> tables;
  absl::Status status;
};

// Writes the keys in [begin, end); null is without bound. Nothing is written where no entry of them survives.
absl::Status FlushPart(const FlushInput& input, const std::string* begin, const std::string* end,
                       std::vector<TableMetadata>* tables) {
  std::vector<std::unique_ptr<InternalIterator>> children;
  for (const std::shared_ptr<const MemTable>& memtable : input.memtables) children.push_back(memtable->NewIterator());
  const KeyOrder& order = input.context.order;
  const std::unique_ptr<InternalIterator> entries = NewMergingIterator(order, std::move(children));

  std::unique_ptr<TableOutput> output;
  const auto finish = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(TableMetadata table, output->Finish(RunNumber(0)));
    output.reset();
    tables->push_back(std::move(table));
    return absl::OkStatus();
  };
  FlushSplitter splitter({.min_ascending = input.context.tuning.range_keys,
                          .min_table_bytes = input.context.tuning.memtable_bytes / kSmallestPartOfMemtable,
                          .continues = begin != nullptr});
  Retention retention({.order = order, .snapshots = input.snapshots, .bottommost = false, .keys_stay = true});
  const auto emit = [&](const InternalKeyView& key, std::string_view value, bool first_of_key) -> absl::Status {
    const uint64_t bytes = output != nullptr ? output->EstimatedBytes() : 0;
    if (splitter.BeginsTable(key.sequence(), first_of_key, bytes)) RETURN_IF_ERROR(finish());
    if (output == nullptr) {
      ASSIGN_OR_RETURN(output, TableOutput::Create(input.context, /*level=*/0));
    }
    return output->Add(key, value);
  };
  if (begin == nullptr) {
    entries->SeekToFirst();
  } else {
    entries->Seek({*begin, kFirstTrailer});
  }
  for (; entries->Valid() && (end == nullptr || order.Less(entries->key().user_key, *end)); entries->Next()) {
    RETURN_IF_ERROR(retention.Add(entries->key(), entries->value(), emit));
  }
  RETURN_IF_ERROR(entries->status());
  RETURN_IF_ERROR(retention.Finish(emit));
  return output != nullptr ? finish() : absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<TableMetadata>> FlushMemTables(const FlushInput& input) {
  const std::vector<std::string> cuts = CutIntoParts(input);
  std::vector<FlushedPart> parts(cuts.size() + 1);
  const auto flush = [&](size_t i) {
    parts[i].status =
        FlushPart(input, i == 0 ? nullptr : &cuts[i - 1], i == cuts.size() ? nullptr : &cuts[i], &parts[i].tables);
  };
  if (cuts.empty()) {
    flush(0);
  } else {
    WorkSideBySide(input.executor, Executor::Priority::kCompaction, parts.size(), flush);
  }
  absl::Status status;
  std::vector<TableMetadata> tables;
  for (FlushedPart& part : parts) {
    KeepFirst(&status, part.status);
    for (TableMetadata& table : part.tables) {
      table.run = RunNumber(tables.empty() ? table.number.value() : tables.front().run.value());
      tables.push_back(std::move(table));
    }
  }
  if (status.ok()) return tables;
  RemoveTables(input.context.directory, tables);
  return status;
}

}  // namespace sepal
