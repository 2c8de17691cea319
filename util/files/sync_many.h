// How `Directory::SyncMany` syncs to the operating system: in a few threads, or in the calling one if no other is
// available. Concurrent syncs share a commit of the file system's journal and a flush of the disk's cache; single syncs
// wait for one each. io_uring is no help: it was several times slower. Safe for concurrent use.
#pragma once

#include <span>

#include "absl/status/status.h"
#include "sepal/file_system.h"

namespace sepal {

absl::Status SyncManyByThreads(std::span<WritableFile* const> files);

}  // namespace sepal
