#include <algorithm>
#include <cerrno>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "rados/client.h"
#include "rados/directory.h"
#include "rados/operations.h"
#include "rados/space.h"
#include "sepal/rados.h"
#include "util/base/status.h"
#include "util/files/paths.h"

namespace sepal {

using rados::Client;
using rados::Space;

// The file system without a cache.
class RadosFileSystem::Impl final : public FileSystem {
 public:
  explicit Impl(std::shared_ptr<Client> client) : client_(std::move(client)) {}

  absl::StatusOr<std::unique_ptr<Directory>> OpenDirectory(std::string_view path, bool create) override;
  absl::Status RemoveDirectory(std::string_view path) override;

  Client& client() { return *client_; }
  // One for each name, as long as anything of it is open.
  absl::StatusOr<std::shared_ptr<Space>> SpaceOf(const std::string& name) {
    ASSIGN_OR_RETURN(const rados_ioctx_t io, client_->IoFor(name));
    MutexLock lock(&mutex_);
    std::shared_ptr<Space> space = spaces_[name].lock();
    if (space == nullptr) spaces_[name] = space = std::make_shared<Space>(client_, name, io);
    return space;
  }

 private:
  absl::Status Create(const Space& space, std::string_view path);
  absl::StatusOr<bool> HasChild(const std::string& name);

  const std::shared_ptr<Client> client_;
  Mutex mutex_;
  std::map<std::string, std::weak_ptr<Space>> spaces_ ABSL_GUARDED_BY(mutex_);
};

absl::Status RadosFileSystem::Impl::Create(const Space& space, std::string_view path) {
  RETURN_IF_ERROR(client_->Lost());
  ASSIGN_OR_RETURN(const rados_ioctx_t root, client_->IoFor(""));
  rados::WriteOp list;
  list.Create(/*exclusive=*/false);
  list.Set({{space.name(), rados::kVersion}});
  ++client_->counts.index_writes;
  RETURN_IF_ERROR(client_->Note(list.Run(root, rados::kDirectoriesObject), path));
  rados::WriteOp index;
  index.Create(/*exclusive=*/true);
  index.Set({{"v", rados::kVersion}});
  ++client_->counts.index_writes;
  const int code = index.Run(space.io(), rados::kIndexObject);
  return code == -EEXIST ? absl::OkStatus() : client_->Note(code, path);
}

absl::StatusOr<bool> RadosFileSystem::Impl::HasChild(const std::string& name) {
  ASSIGN_OR_RETURN(const rados_ioctx_t root, client_->IoFor(""));
  const absl::StatusOr<rados::Omap> found = rados::ReadOmap(root, rados::kDirectoriesObject, name + "/");
  if (absl::IsNotFound(found.status())) return false;
  RETURN_IF_ERROR(found.status());
  return !found->empty();
}

RadosFileSystem::RadosFileSystem(std::unique_ptr<Impl> impl, std::unique_ptr<CachedFileSystem> cache)
    : impl_(std::move(impl)), cache_(std::move(cache)) {}
RadosFileSystem::~RadosFileSystem() = default;

absl::StatusOr<std::unique_ptr<RadosFileSystem>> RadosFileSystem::Connect(const RadosOptions& options) {
  if (options.pool.empty()) return absl::InvalidArgumentError("RADOS: no pool is given");
  if (options.object_bytes < 64 || options.object_bytes > uint64_t{64} << 20) {
    return absl::InvalidArgumentError(
        absl::StrFormat("RADOS: object_bytes of %d is out of range: 64 to 67108864", options.object_bytes));
  }
  if (options.linger.count() < 1 || options.lease.count() < 1000 || options.fence.count() < 60 ||
      options.log_buffer_bytes == 0 || options.operation_timeout.count() < 1 || options.connect_timeout.count() < 1 ||
      options.removal_grace.count() < 0) {
    return absl::InvalidArgumentError(
        "RADOS: out of range: linger is at least 1 ms, lease 1 s, fence 60 s, removal_grace 0, the other times 1 s, "
        "log_buffer_bytes 1");
  }
  ASSIGN_OR_RETURN(std::shared_ptr<Client> client, Client::Connect(options));
  auto impl = std::make_unique<Impl>(std::move(client));
  std::unique_ptr<CachedFileSystem> cache;
  if (!options.cache_directory.empty()) {
    ASSIGN_OR_RETURN(cache, CachedFileSystem::Open(
                                impl.get(), {.directory = options.cache_directory, .bytes = options.cache_bytes}));
  }
  return std::unique_ptr<RadosFileSystem>(new RadosFileSystem(std::move(impl), std::move(cache)));
}

absl::StatusOr<std::unique_ptr<Directory>> RadosFileSystem::OpenDirectory(std::string_view path, bool create) {
  FileSystem* const files = cache_ != nullptr ? static_cast<FileSystem*>(cache_.get()) : impl_.get();
  return files->OpenDirectory(path, create);
}

absl::Status RadosFileSystem::RemoveDirectory(std::string_view path) { return impl_->RemoveDirectory(path); }

std::string RadosFileSystem::Notice() const { return cache_ != nullptr ? cache_->Notice() : std::string(); }

absl::StatusOr<std::unique_ptr<Directory>> RadosFileSystem::Impl::OpenDirectory(std::string_view path, bool create) {
  ASSIGN_OR_RETURN(std::string cleaned, CleanPath(path));
  const std::string name = rados::NamespaceOf(cleaned);
  ASSIGN_OR_RETURN(std::shared_ptr<Space> space, SpaceOf(name));
  absl::Status there = space->CheckVersion();
  if (absl::IsNotFound(there)) {
    const size_t slash = name.rfind('/');
    if (slash != name.npos) {
      const absl::StatusOr<std::unique_ptr<Directory>> parent = OpenDirectory(name.substr(0, slash), create);
      if (parent.ok() && (*parent)->OpenForRead(name.substr(slash + 1)).ok()) {
        return absl::FailedPreconditionError(absl::StrFormat("%s: not a directory", cleaned));
      }
      if (create) RETURN_IF_ERROR(parent.status());
    }
    if (!create) return absl::NotFoundError(absl::StrFormat("%s: open directory: no such directory", cleaned));
    RETURN_IF_ERROR(Create(*space, cleaned));
    there = space->CheckVersion();
  }
  RETURN_IF_ERROR(there);
  return rados::MakeDirectory(std::move(space), std::move(cleaned));
}

absl::Status RadosFileSystem::Impl::RemoveDirectory(std::string_view path) {
  ASSIGN_OR_RETURN(const std::string cleaned, CleanPath(path));
  const std::string name = rados::NamespaceOf(cleaned);
  RETURN_IF_ERROR(client_->Lost());
  ASSIGN_OR_RETURN(const std::shared_ptr<Space> space, SpaceOf(name));
  RETURN_IF_ERROR(Annotate(space->CheckVersion(), cleaned));
  ASSIGN_OR_RETURN(const auto names, space->Names());
  ASSIGN_OR_RETURN(const bool child, HasChild(name));
  if (!names.empty() || child) {
    return absl::FailedPreconditionError(absl::StrFormat("%s: remove directory: it is not empty", cleaned));
  }
  // What has no name any more goes while the index knows of it.
  RETURN_IF_ERROR(client_->AwaitBurials());
  rados::WriteOp index;
  index.Remove();
  RETURN_IF_ERROR(client_->Note(index.Run(space->io(), rados::kIndexObject), cleaned));
  ASSIGN_OR_RETURN(const rados_ioctx_t root, client_->IoFor(""));
  rados::WriteOp list;
  list.Unset({name});
  client_->counts.index_writes += 2;
  return client_->Note(list.Run(root, rados::kDirectoriesObject), cleaned);
}

absl::StatusOr<std::vector<std::string>> RadosFileSystem::StrayObjects(std::string_view path, bool remove) {
  ASSIGN_OR_RETURN(const std::string cleaned, CleanPath(path));
  ASSIGN_OR_RETURN(const std::shared_ptr<Space> space, impl_->SpaceOf(rados::NamespaceOf(cleaned)));
  RETURN_IF_ERROR(space->CheckVersion());
  ASSIGN_OR_RETURN(const std::vector<rados::Stray> strays, rados::FindStrays(*space));
  std::vector<std::string> names;
  for (const auto& [io, object] : strays) {
    names.push_back(object);
    const int code = remove ? rados_remove(io, object.c_str()) : 0;
    if (code < 0 && code != -ENOENT) return impl_->client().Note(code, object);
  }
  return names;
}

absl::Status RadosFileSystem::AwaitRemovals() { return impl_->client().AwaitBurials(); }

RadosCounts RadosFileSystem::Counts() const {
  const rados::AtomicCounts& counts = impl_->client().counts;
  return {.index_reads = counts.index_reads,
          .index_writes = counts.index_writes,
          .data_reads = counts.data_reads,
          .data_writes = counts.data_writes,
          .size_queries = counts.size_queries,
          .removals = counts.removals,
          .lock_calls = counts.lock_calls,
          .monitor_calls = counts.monitor_calls};
}

}  // namespace sepal
