#include "rados/space.h"

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "rados/file.h"
#include "util/base/status.h"
#include "util/base/strings.h"

namespace sepal::rados {

std::string Space::PathOf(std::string_view file) const { return absl::StrCat(name_, "/", ToAbsl(file)); }

absl::StatusOr<Omap> Space::Reread(absl::StatusOr<Omap> first, const std::vector<std::string>& keys,
                                   const std::string& prefix) {
  if (absl::IsAborted(first.status())) {
    client_->NoteLost(first.status());
    ASSIGN_OR_RETURN(const rados_ioctx_t io, client_->IoAfterFence(name_));
    first = keys.empty() ? ReadOmap(io, kIndexObject, prefix) : ReadKeys(io, kIndexObject, keys);
  }
  if (first.ok()) return first;
  return Annotate(first.status(), name_);
}

absl::StatusOr<Omap> Space::ReadIndex(const std::string& prefix) {
  ++client_->counts.index_reads;
  return Reread(ReadOmap(io_, kIndexObject, prefix), {}, prefix);
}

absl::Status Space::CheckVersion() {
  ++client_->counts.index_reads;
  ASSIGN_OR_RETURN(const Omap found, Reread(ReadKeys(io_, kIndexObject, {"v"}), {"v"}, ""));
  const auto it = found.find("v");
  if (it != found.end() && (it->second == kVersion || it->second == kVersionOfPools)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrFormat("%s: the directory is of version \"%s\", and this library knows versions %s and %s", name_,
                      it == found.end() ? "" : it->second, kVersion, kVersionOfPools));
}

absl::StatusOr<std::map<std::string, Entry>> Space::Names() {
  std::map<std::string, Entry> names;
  {
    MutexLock lock(&mutex_);
    if (!epoch_.empty()) {
      names.insert(names_.begin(), names_.end());
      return names;
    }
  }
  ASSIGN_OR_RETURN(const Omap index, ReadIndex("n:"));
  for (const auto& [key, value] : index) {
    ASSIGN_OR_RETURN(names[key.substr(2)], DecodeEntry(value));
  }
  return names;
}

absl::StatusOr<Entry> Space::Look(std::string_view name) {
  const auto missing = [&] { return absl::NotFoundError(absl::StrFormat("%s: no such file", PathOf(name))); };
  {
    MutexLock lock(&mutex_);
    if (!epoch_.empty()) {
      const auto it = names_.find(name);
      if (it == names_.end()) return missing();
      return it->second;
    }
  }
  const std::string key = NameKey(name);
  ++client_->counts.index_reads;
  ASSIGN_OR_RETURN(const Omap found, Reread(ReadKeys(io_, kIndexObject, {key}), {key}, ""));
  if (found.empty()) return missing();
  return DecodeEntry(found.begin()->second);
}

std::string Space::Epoch() {
  MutexLock lock(&mutex_);
  return epoch_;
}

void Space::FillOp(const Change& change, const std::string& epoch, WriteOp* op) {
  op->MustExist();
  if (!epoch.empty()) op->Compare("e", epoch);
  for (const auto& [key, value] : change.compare) op->Compare(key, value);
  op->Set(change.set);
  op->Unset(change.unset);
  ++client_->counts.index_writes;
}

absl::Status Space::WhyRefused(const std::string& epoch) {
  if (!epoch.empty()) {
    ASSIGN_OR_RETURN(Omap index, ReadIndex(""));
    if (index["e"] != epoch) {
      NoteLost(
          absl::AbortedError(absl::StrFormat("%s: another client has taken the database over: %s", name_, index["w"])));
      return Lost();
    }
  }
  return absl::FailedPreconditionError(absl::StrFormat("%s: the index is not as it was", name_));
}

absl::Status Space::Apply(const Change& change, std::string_view what) {
  RETURN_IF_ERROR(Lost());
  const std::string epoch = Epoch();
  WriteOp op;
  FillOp(change, epoch, &op);
  const int code = op.Run(io_, kIndexObject);
  if (code == -ECANCELED) return WhyRefused(epoch);
  return client_->Note(code, what);
}

void Space::ApplyLater(const Change& change) {
  WriteOp op;
  FillOp(change, Epoch(), &op);
  rados_completion_t done = nullptr;
  rados_aio_create_completion2(
      client_.get(),
      [](rados_completion_t completion, void* client) {
        const int code = rados_aio_get_return_value(completion);
        if (code != -ECANCELED) static_cast<Client*>(client)->Note(code, "index").IgnoreError();
      },
      &done);
  (void)rados_aio_write_op_operate(op.get(), io_, done, kIndexObject, nullptr, 0);
  rados_aio_release(done);
}

absl::Status Space::Replace(std::string_view name, const Entry* before, const Entry* after, bool wait) {
  const std::string key = NameKey(name);
  Change change;
  change.compare = {{key, before == nullptr ? "" : EncodeEntry(*before)}};
  if (after != nullptr) {
    change.set = {{key, EncodeEntry(*after)}};
    if (after->pool != kOwnPool) change.set.emplace_back("v", kVersionOfPools);
  } else {
    change.set = {{DeadKey(*before), EncodeEntry(*before)}};
    change.unset = {key};
  }
  if (wait) {
    RETURN_IF_ERROR(Apply(change, PathOf(name)));
  } else {
    ApplyLater(change);
  }
  MutexLock lock(&mutex_);
  if (epoch_.empty()) return absl::OkStatus();
  if (!wait) {
    // It came too late if the name has another entry by now.
    const auto it = names_.find(name);
    if (it != names_.end() && it->second == *before) it->second = *after;
    return absl::OkStatus();
  }
  if (after != nullptr) {
    names_[std::string(name)] = *after;
  } else {
    names_.erase(std::string(name));
  }
  return absl::OkStatus();
}

absl::Status Space::Rename(std::string_view from, std::string_view to, const Entry& entry) {
  Change change;
  change.compare = {{NameKey(from), EncodeEntry(entry)}, {NameKey(to), ""}};
  change.set = {{NameKey(to), EncodeEntry(entry)}};
  change.unset = {NameKey(from)};
  RETURN_IF_ERROR(Apply(change, PathOf(to)));
  MutexLock lock(&mutex_);
  if (epoch_.empty()) return absl::OkStatus();
  names_.erase(std::string(from));
  names_[std::string(to)] = entry;
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<File>> Space::FileOf(std::string_view name, const Entry& entry) {
  rados_ioctx_t home = io_;
  if (!entry.home.empty() || entry.pool != kOwnPool) {
    ASSIGN_OR_RETURN(home, client_->IoFor(entry.home.empty() ? name_ : entry.home, entry.pool));
  }
  return client_->ShareFile(entry.id, [&] {
    return std::shared_ptr<File>(new File(shared_from_this(), home, name, entry), &LeakInChild<File>);
  });
}

std::map<std::string, Space::Growing, std::less<>> Space::AllGrowing() {
  MutexLock lock(&mutex_);
  return growing_;
}

std::optional<Space::Growing> Space::FindGrowing(std::string_view name) {
  MutexLock lock(&mutex_);
  const auto it = growing_.find(name);
  return it == growing_.end() ? std::nullopt : std::optional(it->second);
}

void Space::NoteGrowing(std::string_view name, const Entry& entry, uint64_t bytes) {
  MutexLock lock(&mutex_);
  growing_[std::string(name)] = {entry, bytes};
}

void Space::ForgetGrowing(std::string_view name) {
  MutexLock lock(&mutex_);
  const auto it = growing_.find(name);
  if (it != growing_.end()) growing_.erase(it);
}

void Space::SetGrowing(std::map<std::string, Growing, std::less<>> growing) {
  MutexLock lock(&mutex_);
  growing_ = std::move(growing);
}

absl::Status Space::Hold(const std::string& epoch, const Omap& index) {
  std::map<std::string, Entry, std::less<>> names;
  for (const auto& [key, value] : index) {
    if (!key.starts_with("n:")) continue;
    ASSIGN_OR_RETURN(names[key.substr(2)], DecodeEntry(value));
  }
  MutexLock lock(&mutex_);
  epoch_ = epoch;
  names_ = std::move(names);
  growing_.clear();
  return absl::OkStatus();
}

void Space::LetGo(const std::string& epoch) {
  MutexLock lock(&mutex_);
  if (epoch_ != epoch) return;
  epoch_.clear();
  names_.clear();
}

bool Space::Holds(const std::string& epoch) {
  MutexLock lock(&mutex_);
  return epoch_ == epoch;
}

absl::Status Space::Lost() {
  RETURN_IF_ERROR(client_->Lost());
  MutexLock lock(&mutex_);
  return lost_;
}

void Space::NoteLost(const absl::Status& status) {
  MutexLock lock(&mutex_);
  KeepFirst(&lost_, status);
}

}  // namespace sepal::rados
