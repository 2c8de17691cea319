#include "rados/client.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "rados/operations.h"
#include "util/base/status.h"

namespace sepal::rados {

Client::Client(const RadosOptions& options)
    : options_(options), dead_(static_cast<uint64_t>(options.removal_grace.count()) * 1000) {}

absl::StatusOr<std::shared_ptr<Client>> Client::Connect(const RadosOptions& options) {
  std::shared_ptr<Client> client(new Client(options), &LeakInChild<Client>);
  RETURN_IF_ERROR(client->Begin());
  RETURN_IF_ERROR(client->StartThreads());
  return client;
}

absl::Status Client::SetUp() {
  if (const int code = rados_create(&cluster_, options_.user.c_str()); code < 0) {
    return absl::InvalidArgumentError(
        absl::StrFormat("RADOS: there can be no user client.%s: %s", options_.user, StatusOf(code, "user").message()));
  }
  const char* const config = options_.config_file.empty() ? nullptr : options_.config_file.c_str();
  if (const int code = rados_conf_read_file(cluster_, config); code < 0 && (config != nullptr || code != -ENOENT)) {
    return Annotate(StatusOf(code, options_.config_file), "RADOS: the configuration file cannot be read");
  }
  const auto set = [&](const char* name, const std::string& value) {
    return StatusOf(rados_conf_set(cluster_, name, value.c_str()), absl::StrCat("RADOS: set ", name));
  };
  if (!options_.keyring.empty()) RETURN_IF_ERROR(set("keyring", options_.keyring));
  const std::string patience = absl::StrCat(options_.connect_timeout.count());
  RETURN_IF_ERROR(set("client_mount_timeout", patience));
  RETURN_IF_ERROR(set("rados_mon_op_timeout", patience));
  return set("rados_osd_op_timeout", absl::StrCat(options_.operation_timeout.count()));
}

absl::Status Client::Begin() {
  RETURN_IF_ERROR(SetUp());
  const std::string who = absl::StrFormat("RADOS: client.%s", options_.user);
  if (const int code = rados_connect(cluster_); code < 0) {
    if (code == -ETIMEDOUT) {
      return absl::UnavailableError(absl::StrFormat("%s: no monitor answered within %d s; check mon_host in %s", who,
                                                    options_.connect_timeout.count(), options_.config_file));
    }
    if (code == -EACCES || code == -EPERM || code == -ENOENT) {
      return absl::PermissionDeniedError(absl::StrFormat(
          "%s: the monitors do not know the key, or there is none; check the keyring %s", who, options_.keyring));
    }
    return StatusOf(code, absl::StrCat(who, ": connect"));
  }
  connected_ = true;
  instance_ = absl::StrFormat("%x", rados_get_instance_id(cluster_));
  entity_ = absl::StrFormat("client.%d", rados_get_instance_id(cluster_));
  char fsid[64] = "";
  RETURN_IF_ERROR(StatusOf(std::min(0, rados_cluster_fsid(cluster_, fsid, sizeof fsid)), "RADOS: the cluster's id"));
  identity_ = absl::StrCat("rados:", fsid, "/", options_.pool, "/");
  char* addresses = nullptr;
  RETURN_IF_ERROR(StatusOf(rados_getaddrs(cluster_, &addresses), absl::StrCat(who, ": own address")));
  addresses_ = addresses;
  std::free(addresses);
  ASSIGN_OR_RETURN(const rados_ioctx_t io, IoFor(""));
  own_pool_ = rados_ioctx_get_id(io);
  uint64_t size = 0;
  time_t time = 0;
  // A key that may not use the pool is told now.
  const int code = rados_stat(io, kDirectoriesObject, &size, &time);
  if (code != -ENOENT) RETURN_IF_ERROR(StatusOf(code, absl::StrFormat("%s: pool %s", who, options_.pool)));
  return FindDataPool();
}

absl::Status Client::StartThreads() {
  threads_ = std::make_unique<Threads>();
  for (void (Client::*body)() : {&Client::RunReaper, &Client::RunLinger, &Client::RunStatistics}) {
    std::optional<Thread> thread = Thread::Make([this, body] { (this->*body)(); });
    if (!thread.has_value()) return absl::ResourceExhaustedError("RADOS: the system grants no thread");
    threads_->all.push_back(std::move(*thread));
  }
  return absl::OkStatus();
}

Client::~Client() {
  {
    MutexLock lock(&mutex_);
    ending_ = true;
  }
  changed_.NotifyAll();
  threads_.reset();
  {
    MutexLock lock(&mutex_);
    for (const auto& [where, io] : ios_) {
      rados_aio_flush(io);
      rados_ioctx_destroy(io);
    }
  }
  if (cluster_ != nullptr) rados_shutdown(cluster_);
}

std::string Client::NewId() { return absl::StrFormat("%s-%x", instance_, next_id_.fetch_add(1)); }

absl::Status Client::FindDataPool() {
  if (options_.data_pool.empty() || options_.data_pool == options_.pool) return absl::OkStatus();
  const int64_t pool = rados_pool_lookup(cluster_, options_.data_pool.c_str());
  if (pool == -ENOENT) {
    return absl::NotFoundError(
        absl::StrFormat("RADOS: there is no pool %s for tables; make it, or give the name of one "
                        "that is there",
                        options_.data_pool));
  }
  RETURN_IF_ERROR(StatusOf(static_cast<int>(std::min<int64_t>(pool, 0)), "RADOS: the data pool"));
  data_pool_ = pool;
  ASSIGN_OR_RETURN(const rados_ioctx_t io, IoFor("", pool));
  uint64_t size = 0;
  time_t time = 0;
  // A key that may not use it is told now.
  const int code = rados_stat(io, kDirectoriesObject, &size, &time);
  return code == -ENOENT ? absl::OkStatus() : StatusOf(code, absl::StrCat("RADOS: pool ", options_.data_pool));
}

absl::StatusOr<rados_ioctx_t> Client::IoFor(const std::string& space, int64_t pool) {
  MutexLock lock(&mutex_);
  const auto it = ios_.find({pool, space});
  if (it != ios_.end()) return it->second;
  rados_ioctx_t io = nullptr;
  const int code = pool == kOwnPool ? rados_ioctx_create(cluster_, options_.pool.c_str(), &io)
                                    : rados_ioctx_create2(cluster_, pool, &io);
  if (code < 0) {
    if (code == -ENOENT && pool != kOwnPool) {
      return absl::NotFoundError(absl::StrFormat("RADOS: pool %d, which files of this database lie in, is gone", pool));
    }
    if (code == -ENOENT) {
      return absl::NotFoundError(absl::StrFormat(
          "RADOS: there is no pool %s; make it (ceph osd pool create %s), or give the name of one that is there",
          options_.pool, options_.pool));
    }
    return StatusOf(code, absl::StrCat("RADOS: pool ", options_.pool));
  }
  // A data pool may be that of several pools, or be the own pool of other directories.
  rados_ioctx_set_namespace(io, pool == kOwnPool ? space.c_str() : absl::StrCat("/", own_pool_, ":", space).c_str());
  // A full pool gives an error; calls would wait until it is not.
  rados_set_pool_full_try(io);
  ios_[{pool, space}] = io;
  return io;
}

absl::StatusOr<rados_ioctx_t> Client::IoAfterFence(const std::string& space, int64_t pool) {
  std::shared_ptr<Client> reader;
  {
    MutexLock lock(&mutex_);
    if (reader_ == nullptr) {
      std::shared_ptr<Client> made(new Client(options_), &LeakInChild<Client>);
      RETURN_IF_ERROR(made->Begin());
      reader_ = std::move(made);
    }
    reader = reader_;
  }
  return reader->IoFor(space, pool);
}

absl::Status Client::Note(int code, std::string_view what) {
  absl::Status status = StatusOf(code, what);
  if (code == -ESHUTDOWN || code == -ETIMEDOUT) NoteLost(status);
  return status;
}

void Client::NoteLost(const absl::Status& status) {
  MutexLock lock(&mutex_);
  KeepFirst(&lost_, status);
}

absl::Status Client::Lost() const {
  MutexLock lock(&mutex_);
  return lost_;
}

absl::Status Client::Fence(const std::string& address) {
  ++counts.monitor_calls;
  std::string text = address;
  const int code = rados_blocklist_add(cluster_, text.data(), static_cast<uint32_t>(options_.fence.count()));
  if (code == -EACCES || code == -EPERM) {
    return absl::PermissionDeniedError(absl::StrFormat(
        "RADOS: client.%s may not fence %s; give its key mon 'allow r, allow command \"osd blocklist\"'", options_.user,
        address));
  }
  if (code == -ETIMEDOUT) {
    return absl::UnavailableError(
        absl::StrFormat("RADOS: the monitors did not fence %s within %d s, without a quorum there is no taking over",
                        address, options_.connect_timeout.count()));
  }
  return Note(code, absl::StrCat("RADOS: fence ", address));
}

std::shared_ptr<File> Client::FindFile(const std::string& id) {
  MutexLock lock(&files_mutex_);
  const auto it = files_.find(id);
  return it == files_.end() ? nullptr : it->second.lock();
}

std::shared_ptr<File> Client::ShareFile(const std::string& id, const std::function<std::shared_ptr<File>()>& make) {
  MutexLock lock(&files_mutex_);
  std::erase_if(files_, [](const auto& each) { return each.second.expired(); });
  std::shared_ptr<File> file = files_[id].lock();
  if (file == nullptr) files_[id] = file = make();
  return file;
}

void Client::Register(Lingering* file) {
  MutexLock lock(&linger_mutex_);
  lingering_.insert(file);
}
void Client::Unregister(Lingering* file) {
  MutexLock lock(&linger_mutex_);
  lingering_.erase(file);
}

void Client::RunLinger() {
  const uint64_t micros = static_cast<uint64_t>(options_.linger.count()) * 1000;
  while (true) {
    {
      MutexLock lock(&mutex_);
      if (!ending_) changed_.WaitFor(&mutex_, micros);
      if (ending_) return;
    }
    MutexLock lock(&linger_mutex_);
    for (Lingering* file : lingering_) file->SendWhatLingers();
  }
}

}  // namespace sepal::rados
