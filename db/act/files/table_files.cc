#include "db/act/files/table_files.h"

#include <utility>

#include "absl/strings/str_format.h"
#include "db/format/file_names.h"
#include "util/base/status.h"

namespace sepal {

absl::StatusOr<std::shared_ptr<TableReader>> FamilyTableOpener::OpenTable(const TableMetadata& metadata) {
  const std::string name = TableFileName(metadata.number);
  absl::StatusOr<std::unique_ptr<ReadableFile>> file = parts_.directory->OpenForRead(name, parts_.read_mode);
  if (absl::IsNotFound(file.status()) && parts_.beside_a_writer) {
    return absl::AbortedError(
        absl::StrFormat("%s/%s: the writer has removed the table since this view was opened; open it again",
                        parts_.directory->path(), name));
  }
  if (absl::IsNotFound(file.status())) {
    return absl::DataLossError(
        absl::StrFormat("%s/%s: the table is missing; restore it from a backup", parts_.directory->path(), name));
  }
  RETURN_IF_ERROR(file.status());
  return OpenAsked(metadata, std::move(file).value());
}

std::unique_ptr<ReadableFile> FamilyTableOpener::Ask(const TableMetadata& metadata) {
  absl::StatusOr<std::unique_ptr<ReadableFile>> file =
      parts_.directory->OpenForRead(TableFileName(metadata.number), parts_.read_mode);
  if (!file.ok()) return nullptr;
  TableReader::AskForOpening(**file, metadata.size_bytes);
  return std::move(file).value();
}

absl::StatusOr<std::shared_ptr<TableReader>> FamilyTableOpener::OpenAsked(const TableMetadata& metadata,
                                                                          std::unique_ptr<ReadableFile> asked) {
  const std::string name = TableFileName(metadata.number);
  return TableReader::Open({.name = parts_.directory->path() + "/" + name,
                            .order = order_,
                            .cache = parts_.cache,
                            .budget = parts_.budget,
                            .statistics = parts_.statistics,
                            .expected_size = metadata.size_bytes,
                            .expected_table_id = metadata.table_id,
                            .expected_footer_checksum = metadata.footer_checksum,
                            .cache_file = parts_.cache != nullptr ? parts_.cache->FileOf(metadata.number.value()) : 0,
                            .read_around = parts_.read_around,
                            .windows = parts_.windows,
                            .remote = parts_.directory->capabilities().remote},
                           std::move(asked));
}

}  // namespace sepal
