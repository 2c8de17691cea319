// A directory as one client has it, shared by all that is open there: its names, and the lock if this client holds it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rados/client.h"
#include "rados/layout.h"
#include "rados/operations.h"
#include "util/thread/sync.h"

namespace sepal::rados {

class File;

// One atomic change of an index.
struct Change {
  std::vector<std::pair<std::string, std::string>> compare;  // an empty value: the key must be missing
  std::vector<std::pair<std::string, std::string>> set;
  std::vector<std::string> unset;
};

class Space : public std::enable_shared_from_this<Space> {
 public:
  Space(std::shared_ptr<Client> client, std::string name, rados_ioctx_t io)
      : client_(std::move(client)), name_(std::move(name)), io_(io) {}

  Client& client() const { return *client_; }
  const std::string& name() const { return name_; }
  rados_ioctx_t io() const { return io_; }
  std::string PathOf(std::string_view file) const;

  // NotFound for a directory that is not there, FailedPrecondition for one of another version.
  absl::Status CheckVersion();
  absl::StatusOr<Omap> ReadIndex(const std::string& prefix);
  absl::StatusOr<std::map<std::string, Entry>> Names();
  absl::StatusOr<Entry> Look(std::string_view name);
  // `FailedPrecondition` where a comparison fails, Aborted where the lock was lost.
  absl::Status Apply(const Change& change, std::string_view what);
  // The same for what nobody waits for, a help to others.
  void ApplyLater(const Change& change);
  // Gives a file another entry, if it still has `before`; null: no such file.
  absl::Status Replace(std::string_view name, const Entry* before, const Entry* after, bool wait = true);

  absl::Status Rename(std::string_view from, std::string_view to, const Entry& entry);

  // The file as this client has it open, or is to have it.
  absl::StatusOr<std::shared_ptr<File>> FileOf(std::string_view name, const Entry& entry);

  // Of the files that somebody else was writing as they were last looked at: what may be asked together with the index,
  // which says whether it still holds.
  struct Growing {
    Entry entry;
    uint64_t bytes = 0;
  };
  std::map<std::string, Growing, std::less<>> AllGrowing();
  std::optional<Growing> FindGrowing(std::string_view name);
  void NoteGrowing(std::string_view name, const Entry& entry, uint64_t bytes);
  void ForgetGrowing(std::string_view name);
  // Those of a listing, and no others.
  void SetGrowing(std::map<std::string, Growing, std::less<>> growing);

  // While the lock is held, under this epoch, what the index says is known.
  absl::Status Hold(const std::string& epoch, const Omap& index);
  void LetGo(const std::string& epoch);
  bool Holds(const std::string& epoch);
  // What keeps this client from writing here.
  absl::Status Lost();
  void NoteLost(const absl::Status& status);
  // After a comparison with the epoch may have failed.
  absl::Status WhyRefused(const std::string& epoch);

 private:
  absl::StatusOr<Omap> Reread(absl::StatusOr<Omap> first, const std::vector<std::string>& keys,
                              const std::string& prefix);
  void FillOp(const Change& change, const std::string& epoch, WriteOp* op);
  std::string Epoch();

  const std::shared_ptr<Client> client_;
  const std::string name_;
  const rados_ioctx_t io_;
  Mutex mutex_;
  std::map<std::string, Entry, std::less<>> names_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Growing, std::less<>> growing_ ABSL_GUARDED_BY(mutex_);
  std::string epoch_ ABSL_GUARDED_BY(mutex_);  // empty: the lock is not held
  absl::Status lost_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sepal::rados
