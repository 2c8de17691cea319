// The lock of a directory: a RADOS lock of its index with a lease, the fence, and the epoch (rados/layout.h).
//
// Who takes it from another has first made the cluster refuse that client's operations: an OSD answers the new holder
// only once it has the map that says so, so that whatever the new holder has read, existing or missing, the old one
// changes no more. Behind it, when the fence has expired: each change of the index compares the epoch, and data is only
// ever written to objects that exist, or that are new and of the client's own.
#pragma once

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "rados/space.h"
#include "sepal/file_system.h"

namespace sepal::rados {

// `file`: the entry of the file that stands for the lock.
absl::StatusOr<std::unique_ptr<DirectoryLock>> TakeLock(const std::shared_ptr<Space>& space, std::string_view name,
                                                        const Entry& file, LockRequest request);

}  // namespace sepal::rados
