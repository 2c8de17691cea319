#include "db/engine/open/range_tables.h"

#include <memory>
#include <utility>

#include "absl/strings/str_format.h"
#include "db/act/jobs/range_table.h"
#include "db/format/file_names.h"
#include "util/base/status.h"

namespace sepal {

absl::StatusOr<VersionRef> LoadRangeTombstones(Core* core, VersionRef version) {
  bool any = false;
  FamilyTableOpener opener = core->Opener(version->order());
  for (const TableRef& table : version->range_tables()) {
    if (table->range_tombstones() != nullptr) continue;
    any = true;
    absl::StatusOr<std::shared_ptr<const TableReader>> reader = table->ShareReader(&opener);
    if (core->read_only && absl::IsNotFound(reader.status())) {
      return absl::AbortedError(absl::StrFormat("%s: the writer has removed %s meanwhile; open it again", core->path,
                                                TableFileName(table->number())));
    }
    RETURN_IF_ERROR(reader.status());
    absl::StatusOr<RangeTombstonesRef> tombstones = ReadRangeTable(version->order(), *std::move(reader));
    if (!tombstones.ok()) {
      return Annotate(tombstones.status(), absl::StrFormat("%s/%s", core->path, TableFileName(table->number())));
    }
    table->SetRangeTombstones(*std::move(tombstones));
  }
  return any ? version->WithRangeTombstones() : version;
}

}  // namespace sepal
