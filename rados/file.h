// A file that this client has open, shared by its readers and its writer: what was written and not sent yet, and what
// is on its way.
//
// Objects are sent whole; logs, and what they refer to, also when `log_buffer_bytes` are there, or have been for
// `linger`. Writes to one object are applied in order, the objects follow each other, and other objects wait for an
// overwrite, so that what a death loses is the end of the file, or of what was written.
#pragma once

#include <rados/librados.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "rados/client.h"
#include "rados/operations.h"
#include "rados/size_query.h"
#include "rados/space.h"
#include "sepal/file_system.h"
#include "util/thread/sync.h"

namespace sepal::rados {

class File final : public Lingering {
 public:
  File(std::shared_ptr<Space> space, rados_ioctx_t home, std::string_view name, const Entry& entry);
  // Waits for what is on its way. If the file has no name any more, its objects go.
  ~File() override;

  bool InChild() const { return client().InChild(); }
  std::string path() const;
  const Entry& made_as() const { return entry_; }
  // No other file of any cluster has it.
  std::string UniqueId() const { return client().identity() + entry_.id; }

  // Asks for the size where only the objects tell it.
  absl::Status LearnSize();
  // The same in two steps, so that other questions travel meanwhile; null: there is nothing to ask. `known_bytes`: how
  // many it had when it was last asked, or 0.
  std::unique_ptr<SizeQuery> AskSize(uint64_t known_bytes);
  absl::Status LearnSize(SizeQuery* asked);
  // Asks for the size again if a read goes beyond it, because another client may have written since.
  absl::Status LearnGrowth(uint64_t end);
  uint64_t Size();

  // `use` says how long bytes may wait; `anew`: nobody has written to it yet.
  absl::Status BeginWriting(FileUse use, bool anew);
  // Sends all, and lets the writer go; ok if all has arrived.
  absl::Status EndWriting();
  absl::Status Write(uint64_t offset, std::string_view bytes);
  // Sends all that was written, for which a Sync then waits.
  void BeginSync();
  absl::Status Sync();
  absl::Status Truncate(uint64_t size);
  // Not enough room in the pool for bytes up to `end`, as far as is known.
  absl::Status CheckRoom(uint64_t end);

  void NoteRenamed(std::string_view name);
  // A name in `space` that had `entry` is gone.
  void NoteRemoved(const std::string& space, const Entry& entry);
  // Whether a name of it was removed.
  bool Removed();
  std::string Name() const;

  // Of a part of one object.
  struct Part {
    Pending pending;
    uint64_t object = 0;
    uint64_t offset = 0;
    size_t length = 0;
    char* buffer = nullptr;
  };
  // How many of the bytes there are; what this client wrote of them is where it can be read.
  absl::StatusOr<size_t> PrepareRead(uint64_t offset, size_t length);
  // `done`, if any, is called for each part.
  void BeginRead(uint64_t offset, size_t length, char* buffer, rados_callback_t done, void* argument,
                 std::vector<Part>* parts);
  absl::Status FinishRead(Part* part);
  // Whether so many bytes may be read ahead of their time; then they are to be let go of.
  bool TakeAhead(uint64_t bytes) { return client().TakeAhead(bytes); }
  void LetGoAhead(uint64_t bytes) { client().LetGoAhead(bytes); }

  void SendWhatLingers() override;

 private:
  struct Sent;
  static void OnSent(rados_completion_t completion, void* sent);

  Client& client() const { return space_->client(); }
  absl::Status Put(uint64_t offset, std::string_view bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // What lies in the buffer before `end`, an offset of the file, once those who came before have sent theirs.
  void Send(uint64_t end) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // All that is being sent by now.
  absl::Status AwaitSent() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The operation that writes a part of an object. False after a failure.
  bool FillWrite(uint64_t object, uint64_t offset, std::string_view part, WriteOp* op)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // What was sent of an object, for one that cannot be written in part; nullopt after a failure.
  std::optional<std::string> ReadBack(uint64_t object, uint64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Until a part of this object may be sent: no overwrite of another one is on its way, and few writes are.
  void AwaitPlace(uint64_t object) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SendPart(uint64_t at, std::string_view part) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status SendAndAwait() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Shrink(uint64_t size) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::shared_ptr<Space> space_;
  const rados_ioctx_t home_;
  const Entry entry_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::string name_ ABSL_GUARDED_BY(mutex_);
  bool size_known_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t size_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t objects_ ABSL_GUARDED_BY(mutex_) = 0;     // that exist, or are on their way
  uint64_t last_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // of the last object
  // Of an erasure-coded pool, whose objects take appends at multiples of this, or are written as a whole. 0: any write.
  uint64_t alignment_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t unit_ ABSL_GUARDED_BY(mutex_) = 0;  // so many bytes are sent without being asked
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool lingers_ = false;
  // One thread at a time sends: the one of this turn. What it has taken out of the buffer is seen by nobody else.
  uint64_t turn_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t next_turn_ ABSL_GUARDED_BY(mutex_) = 0;  // another than `turn_`: somebody sends
  uint64_t buffer_begin_ ABSL_GUARDED_BY(mutex_) = 0;
  std::string buffer_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_number_ ABSL_GUARDED_BY(mutex_) = 1;
  uint64_t overwrite_ ABSL_GUARDED_BY(mutex_) = 0;    // the number of the last write that made no object longer
  uint64_t overwritten_ ABSL_GUARDED_BY(mutex_) = 0;  // its object
  std::set<uint64_t> on_their_way_ ABSL_GUARDED_BY(mutex_);
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::pair<std::string, Entry>> removed_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sepal::rados
