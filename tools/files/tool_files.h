// The file system of a directory given to a tool: "rados:POOL/NAME" is in a pool of a Ceph cluster, all others are in
// the operating system's file system.
//
// Environment variables choose cluster and user: SEPAL_RADOS_CONF and SEPAL_RADOS_KEYRING name files (unset: Ceph's
// defaults), SEPAL_RADOS_USER the user without "client." (unset: admin). SEPAL_RADOS_DATA_POOL: the pool of newly
// written tables (RadosOptions::data_pool).
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "sepal/file_system.h"

namespace sepal::tools {

// Whether a path names a directory in a cluster.
bool IsRemote(std::string_view path);

// Chooses by the path. It connects to a cluster when the first directory of a pool is opened, and stays connected until
// the program ends. InvalidArgument for a remote path of another form, or if the tools were built without librados.
// Safe for concurrent use.
FileSystem* ToolFiles();
// The file system of a path itself, and the path's name there: for "rados:POOL/NAME" the pool, and NAME. For code that
// uses paths within that file system. Errors are those of ToolFiles().
struct PathInFiles {
  FileSystem* files = nullptr;
  std::string path = {};
};
absl::StatusOr<PathInFiles> Locate(const std::string& path);
// The file system for a database with these paths: the operating system's own, which knows relative paths, if none is
// remote.
FileSystem* FilesFor(std::initializer_list<std::string_view> paths);

}  // namespace sepal::tools
