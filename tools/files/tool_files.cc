#include "tools/files/tool_files.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "util/base/status.h"
#include "util/thread/sync.h"
#ifdef SEPAL_WITH_RADOS
#include "sepal/rados.h"
#endif

namespace sepal::tools {
namespace {

constexpr std::string_view kScheme = "rados:";

struct RemotePath {
  std::string pool;
  std::string directory;
};

absl::StatusOr<RemotePath> Parse(std::string_view path) {
  const std::string_view rest = path.substr(kScheme.size());
  const size_t slash = rest.find('/');
  if (slash == 0 || slash == rest.npos || slash + 1 == rest.size()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s names no directory in a pool: write rados:POOL/NAME, as in rados:sepal/accounts", path));
  }
  return RemotePath{std::string(rest.substr(0, slash)), std::string(rest.substr(slash + 1))};
}

#ifdef SEPAL_WITH_RADOS
std::string Environment(const char* name, std::string otherwise = {}) {
  const char* const value = std::getenv(name);
  return value != nullptr ? std::string(value) : otherwise;
}

absl::StatusOr<std::unique_ptr<FileSystem>> Connect(const std::string& pool) {
  RadosOptions options;
  options.pool = pool;
  options.user = Environment("SEPAL_RADOS_USER", options.user);
  options.config_file = Environment("SEPAL_RADOS_CONF");
  options.keyring = Environment("SEPAL_RADOS_KEYRING");
  options.data_pool = Environment("SEPAL_RADOS_DATA_POOL");
  ASSIGN_OR_RETURN(std::unique_ptr<RadosFileSystem> connected, RadosFileSystem::Connect(options));
  return std::unique_ptr<FileSystem>(std::move(connected));
}
#else
absl::StatusOr<std::unique_ptr<FileSystem>> Connect(const std::string& pool) {
  return absl::InvalidArgumentError(absl::StrFormat(
      "rados:%s: these tools were built without Ceph; build them where librados-dev is installed", pool));
}
#endif

class FilesByPath final : public FileSystem {
 public:
  absl::StatusOr<std::unique_ptr<Directory>> OpenDirectory(std::string_view path, bool create) override {
    if (!IsRemote(path)) return Posix()->OpenDirectory(path, create);
    ASSIGN_OR_RETURN(const RemotePath remote, Parse(path));
    ASSIGN_OR_RETURN(FileSystem* const pool, PoolOf(remote.pool));
    return pool->OpenDirectory(remote.directory, create);
  }
  absl::Status RemoveDirectory(std::string_view path) override {
    if (!IsRemote(path)) return Posix()->RemoveDirectory(path);
    ASSIGN_OR_RETURN(const RemotePath remote, Parse(path));
    ASSIGN_OR_RETURN(FileSystem* const pool, PoolOf(remote.pool));
    return pool->RemoveDirectory(remote.directory);
  }
  size_t MaxOpenFiles() const override { return Posix()->MaxOpenFiles(); }

  absl::StatusOr<FileSystem*> PoolOf(const std::string& name) {
    MutexLock lock(&mutex_);
    std::unique_ptr<FileSystem>& pool = pools_[name];
    if (pool == nullptr) {
      ASSIGN_OR_RETURN(pool, Connect(name));
    }
    return pool.get();
  }

 private:
  Mutex mutex_;
  std::map<std::string, std::unique_ptr<FileSystem>> pools_ ABSL_GUARDED_BY(mutex_);
};

FilesByPath* Files() {
  static FilesByPath files;
  return &files;
}

}  // namespace

bool IsRemote(std::string_view path) { return path.starts_with(kScheme); }

FileSystem* FilesFor(std::initializer_list<std::string_view> paths) {
  return std::any_of(paths.begin(), paths.end(), IsRemote) ? ToolFiles() : FileSystem::Posix();
}

FileSystem* ToolFiles() { return Files(); }

absl::StatusOr<PathInFiles> Locate(const std::string& path) {
  if (!IsRemote(path)) return PathInFiles{FileSystem::Posix(), path};
  ASSIGN_OR_RETURN(const RemotePath remote, Parse(path));
  ASSIGN_OR_RETURN(FileSystem* const pool, Files()->PoolOf(remote.pool));
  return PathInFiles{pool, remote.directory};
}

}  // namespace sepal::tools
