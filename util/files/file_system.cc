#include "sepal/file_system.h"

#include "absl/strings/str_format.h"
#include "util/base/status.h"
#include "util/files/read_many.h"

namespace sepal {

void Directory::ReadMany(std::span<ReadRequest> requests, const std::function<void(ReadRequest&)>& done) const {
  for (ReadRequest& request : requests) {
    FillByRead(&request);
    done(request);
  }
}

absl::Status Directory::SyncMany(std::span<WritableFile* const> files) {
  for (WritableFile* const file : files) RETURN_IF_ERROR(file->Sync());
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<MappedRegion>> WritableFile::Map(uint64_t offset, size_t length) {
  return absl::UnimplementedError(
      absl::StrFormat("map %u bytes at %u: this file system does not map files", length, offset));
}

absl::Status Directory::Link(std::string_view name, Directory& target, std::string_view new_name) {
  return absl::UnimplementedError(absl::StrFormat("link %s/%s to %s/%s: this file system has no hard links", path(),
                                                  name, target.path(), new_name));
}

}  // namespace sepal
