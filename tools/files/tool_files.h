// Where the directories lie that tools are given: "rados:POOL/NAME" in a pool of a Ceph cluster, all others in the
// operating system's file system.
//
// Which cluster, and as whom, the environment says: SEPAL_RADOS_CONF and SEPAL_RADOS_KEYRING name files (unset: where
// Ceph looks for them), SEPAL_RADOS_USER the user without "client." (unset: admin). SEPAL_RADOS_DATA_POOL: where tables
// that are written go (RadosOptions::data_pool).
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "sepal/file_system.h"

namespace sepal::tools {

// Whether a path names a directory in a cluster.
bool IsRemote(std::string_view path);

// Tells by the path. It connects to a cluster with the first directory of a pool that is opened, and stays connected
// until the program ends. InvalidArgument for a remote path of another form, or where the tools were built without
// librados. Safe for concurrent use.
FileSystem* ToolFiles();
// The file system of a path itself, and the path's name there: of "rados:POOL/NAME" the pool, and NAME. For what has
// paths of its own within. Errors are ToolFiles()'s.
struct PathInFiles {
  FileSystem* files = nullptr;
  std::string path = {};
};
absl::StatusOr<PathInFiles> Locate(const std::string& path);
// The one for a database that concerns these paths: the operating system's itself where none is remote, which knows
// relative paths.
FileSystem* FilesFor(std::initializer_list<std::string_view> paths);

}  // namespace sepal::tools
