#include "db/doctor/kept_families.h"

#include <memory>
#include <utility>

#include "db/act/log/log_recovery.h"
#include "db/act/manifest/manifest_recovery.h"
#include "db/engine/core/check_options.h"
#include "db/engine/open/log_place.h"
#include "db/state/version/manifest_state.h"
#include "util/base/status.h"

namespace sepal {

absl::StatusOr<std::vector<ColumnFamilyDescriptor>> KeptFamilies(FileSystem* files, std::string_view directory,
                                                                 std::string_view log_directory) {
  std::vector<ColumnFamilyDescriptor> families;
  absl::StatusOr<std::unique_ptr<Directory>> opened = files->OpenDirectory(directory, /*create=*/false);
  if (absl::IsNotFound(opened.status())) return families;
  RETURN_IF_ERROR(opened.status());
  std::unique_ptr<Directory> elsewhere;
  const std::string logs_in =
      FindLogDirectory(files, directory, std::string(log_directory)).value_or(std::string(log_directory));
  if (!logs_in.empty()) {
    ASSIGN_OR_RETURN(elsewhere, files->OpenDirectory(logs_in, /*create=*/false));
  }
  ASSIGN_OR_RETURN(const std::vector<LogFile> logs, ListLogs(elsewhere != nullptr ? elsewhere.get() : opened->get()));
  ManifestState state;
  RETURN_IF_ERROR(RecoverManifest(opened->get(), NewestManifest(logs), /*other_files=*/false, [&](VersionEdit&& edit) {
                    return state.Take(std::move(edit));
                  }).status());
  for (const auto& [id, family] : state.families) {
    if (family.kept_options.empty()) continue;
    families.push_back({.name = family.creation.name, .options = OptionsGivenOrKept({}, family.kept_options)});
  }
  return families;
}

}  // namespace sepal
