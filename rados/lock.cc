#include "rados/lock.h"

#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "util/base/status.h"
#include "util/thread/sync.h"

namespace sepal::rados {
namespace {

std::string Myself() {
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  return absl::StrFormat("process %d of %s", ::getpid(), host);
}

// Of `v1:1.2.3.4:0/56` and `1.2.3.4:0/56`, which are one client, the part that both have.
std::string_view Bare(std::string_view address) {
  if (address.starts_with("v1:") || address.starts_with("v2:")) address.remove_prefix(3);
  return address;
}

class Lock final : public DirectoryLock {
 public:
  Lock(std::shared_ptr<Space> space, std::string_view name, const Entry& file)
      : space_(std::move(space)), name_(name), id_(file.id), lock_name_(absl::StrCat(name_, ".", id_)) {
    static std::atomic<uint64_t> locks{0};
    cookie_ = absl::StrCat(space_->client().entity(), "/", ++locks);
  }
  ~Lock() override;

  absl::Status Check() const override;
  absl::Status Acquire(LockRequest request);

 private:
  struct Holder {
    std::string client, cookie, address;
  };
  struct Renewal {
    Mutex mutex;
    CondVar changed;
    bool ending ABSL_GUARDED_BY(mutex) = false;
    std::optional<Thread> thread;
  };

  Client& client() const { return space_->client(); }
  int Take(bool renew);
  std::optional<Holder> FindHolder();
  // Returns the address of who was fenced; empty: nobody had to be.
  absl::StatusOr<std::string> TakeFromHolder(LockRequest request);
  absl::Status BeginEpoch(const std::string& fenced);
  absl::Status BuryTheDead(const Omap& index);
  absl::Status StartRenewing();
  void Renew(Renewal* renewal);

  const std::shared_ptr<Space> space_;
  const std::string name_;
  const std::string id_;
  const std::string lock_name_;
  std::string cookie_;
  const pid_t owner_ = ::getpid();
  bool taken_ = false;
  std::string epoch_;
  std::unique_ptr<Renewal> renewal_;
};

Lock::~Lock() {
  if (client().InChild()) {
    (void)renewal_.release();  // it is the parent's, as all is
    return;
  }
  if (renewal_ != nullptr) {
    {
      MutexLock lock(&renewal_->mutex);
      renewal_->ending = true;
    }
    renewal_->changed.NotifyAll();
    renewal_.reset();
  }
  if (!taken_) return;
  if (space_->Lost().ok()) {
    // What is open may still be written to, so that the next holder fences this client unless all is done.
    if (space_->Holds(epoch_)) space_->Apply({.compare = {}, .set = {{"h", "-"}}, .unset = {}}, "unlock").IgnoreError();
    ++client().counts.lock_calls;
    rados_unlock(space_->io(), kIndexObject, lock_name_.c_str(), cookie_.c_str());
  }
  space_->LetGo(epoch_);
}

absl::Status Lock::Check() const {
  const std::string path = space_->PathOf(name_);
  if (::getpid() != owner_) {
    return absl::FailedPreconditionError(
        absl::StrFormat("%s: locked by process %d, which forked this one", path, owner_));
  }
  RETURN_IF_ERROR(space_->Lost());
  if (!space_->Holds(epoch_)) {
    return absl::FailedPreconditionError(absl::StrFormat("%s: the lock file was removed or replaced", path));
  }
  const absl::StatusOr<Entry> file = space_->Look(name_);  // what is held is known without asking
  if (!file.ok() || file->id != id_) {
    return absl::FailedPreconditionError(absl::StrFormat("%s: the lock file was removed or replaced", path));
  }
  return absl::OkStatus();
}

int Lock::Take(bool renew) {
  const auto lease = client().options().lease;
  timeval duration = {};
  duration.tv_sec = lease.count() / 1000;
  duration.tv_usec = lease.count() % 1000 * 1000;
  ++client().counts.lock_calls;
  return rados_lock_exclusive(space_->io(), kIndexObject, lock_name_.c_str(), cookie_.c_str(), Myself().c_str(),
                              &duration, renew ? LIBRADOS_LOCK_FLAG_RENEW : 0);
}

std::optional<Lock::Holder> Lock::FindHolder() {
  int exclusive = 0;
  std::vector<char> tag(256), clients(4096), cookies(4096), addresses(4096);
  size_t tag_size = tag.size(), clients_size = clients.size(), cookies_size = cookies.size(),
         addresses_size = addresses.size();
  ++client().counts.lock_calls;
  const ssize_t count = rados_list_lockers(space_->io(), kIndexObject, lock_name_.c_str(), &exclusive, tag.data(),
                                           &tag_size, clients.data(), &clients_size, cookies.data(), &cookies_size,
                                           addresses.data(), &addresses_size);
  if (count <= 0) return std::nullopt;
  return Holder{clients.data(), cookies.data(), addresses.data()};
}

absl::StatusOr<std::string> Lock::TakeFromHolder(LockRequest request) {
  const std::optional<Holder> holder = FindHolder();
  if (holder.has_value()) {
    const bool own = holder->client == client().entity();
    if (own || request != LockRequest::kTakeOver) {
      ASSIGN_OR_RETURN(Omap index, space_->ReadIndex(""));
      const std::string who = own ? absl::StrCat("this client, ", Myself())
                                  : absl::StrCat(index["w"], ", ", holder->client, " at ", holder->address);
      return absl::UnavailableError(absl::StrFormat(
          "%s: the directory %s is in use by %s; close the database there first, or open it read-only, or take it over",
          space_->PathOf(name_), space_->name(), who));
    }
    RETURN_IF_ERROR(client().Fence(holder->address));
    ++client().counts.lock_calls;
    const int broken = rados_break_lock(space_->io(), kIndexObject, lock_name_.c_str(), holder->client.c_str(),
                                        holder->cookie.c_str());
    if (broken < 0 && broken != -ENOENT) return client().Note(broken, space_->PathOf(name_));
  }
  const int code = Take(false);
  if (code == -EBUSY || code == -EEXIST) {
    return absl::UnavailableError(
        absl::StrFormat("%s: another client has taken the lock at the same time", space_->PathOf(name_)));
  }
  RETURN_IF_ERROR(client().Note(code, space_->PathOf(name_)));
  return holder.has_value() ? holder->address : std::string();
}

absl::Status Lock::Acquire(LockRequest request) {
  std::string fenced;
  const int code = Take(false);
  if (code == -EBUSY || code == -EEXIST) {
    ASSIGN_OR_RETURN(fenced, TakeFromHolder(request));
  } else {
    RETURN_IF_ERROR(client().Note(code, space_->PathOf(name_)));
  }
  taken_ = true;
  RETURN_IF_ERROR(BeginEpoch(fenced));
  return StartRenewing();
}

absl::Status Lock::BeginEpoch(const std::string& fenced) {
  ASSIGN_OR_RETURN(Omap index, space_->ReadIndex(""));
  // Who had it before, and did not let go in order, may still be writing.
  const std::string before = index["h"];
  if (!before.empty() && before != "-" && Bare(before) != Bare(client().addresses()) && Bare(before) != Bare(fenced)) {
    RETURN_IF_ERROR(client().Fence(before));
  }
  uint64_t number = 0;
  if (!index["e"].empty() && !absl::SimpleAtoi(index["e"], &number)) {
    return absl::DataLossError(absl::StrFormat("%s: the epoch \"%s\" is no number", space_->name(), index["e"]));
  }
  const std::string next = absl::StrCat(number + 1);
  WriteOp op;
  op.MustExist();
  op.Compare("e", index["e"]);
  op.Set({{"e", next}, {"h", client().addresses()}, {"w", Myself()}});
  ++client().counts.index_writes;
  const int code = op.Run(space_->io(), kIndexObject);
  if (code == -ECANCELED) {
    return absl::UnavailableError(
        absl::StrFormat("%s: another client has taken the lock at the same time", space_->PathOf(name_)));
  }
  RETURN_IF_ERROR(client().Note(code, space_->PathOf(name_)));
  // Again, with the fence: nothing of the holder before comes behind this.
  ASSIGN_OR_RETURN(index, space_->ReadIndex(""));
  epoch_ = next;
  RETURN_IF_ERROR(space_->Hold(next, index));
  return BuryTheDead(index);
}

absl::Status Lock::BuryTheDead(const Omap& index) {
  for (const auto& [key, value] : index) {
    if (!key.starts_with("d:")) continue;
    ASSIGN_OR_RETURN(const Entry entry, DecodeEntry(value));
    // This client may have it open, or may be removing it.
    if (client().FindFile(entry.id) != nullptr) continue;
    client().Bury(space_->name(), entry, ObjectsOf(entry));
  }
  return absl::OkStatus();
}

absl::Status Lock::StartRenewing() {
  renewal_ = std::make_unique<Renewal>();
  std::optional<Thread> made = Thread::Make([this, renewal = renewal_.get()] { Renew(renewal); });
  if (!made.has_value()) return absl::ResourceExhaustedError("RADOS: the system grants no thread");
  renewal_->thread.emplace(std::move(*made));
  return absl::OkStatus();
}

void Lock::Renew(Renewal* renewal) {
  const uint64_t micros = static_cast<uint64_t>(client().options().lease.count()) * 1000 / 3;
  while (true) {
    {
      MutexLock lock(&renewal->mutex);
      if (!renewal->ending) renewal->changed.WaitFor(&renewal->mutex, micros);
      if (renewal->ending) return;
    }
    int code = Take(true);
    // This client slept for longer than the lease. If nobody came meanwhile, the lock is its own again.
    if (code == -ENOENT) {
      code = Take(false);
      if (code == 0 && absl::IsAborted(space_->WhyRefused(epoch_))) {
        rados_unlock(space_->io(), kIndexObject, lock_name_.c_str(), cookie_.c_str());
      }
    }
    if (code == -EBUSY || code == -EEXIST) {
      // Where the epoch is the same, another is about to fence this client, or has just died before it did.
      space_->WhyRefused(epoch_).IgnoreError();
    } else if (code < 0) {
      client().Note(code, space_->PathOf(name_)).IgnoreError();
    }
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<DirectoryLock>> TakeLock(const std::shared_ptr<Space>& space, std::string_view name,
                                                        const Entry& file, LockRequest request) {
  auto lock = std::make_unique<Lock>(space, name, file);
  RETURN_IF_ERROR(lock->Acquire(request));
  return lock;
}

}  // namespace sepal::rados
