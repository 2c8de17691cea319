// A file system that wraps another one and fails the calls that a test selects. Every call that can fail is numbered
// from 1, in the order in which calls begin, so that a test can fail the k-th call for every k.
//
// If the wrapped file system is the in-memory one, a failed `Sync` loses the bytes that it should have covered
// (UnsyncedLoser). Stores into a mapping are not numbered and do not fail. Safe for concurrent use.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "sepal/file_system.h"

namespace sepal {

enum class FileOp : uint8_t {
  kOpenDirectory,
  kRemoveDirectory,
  kOpenRead,
  kOpenWrite,
  kRead,
  kFileSize,
  kReadAhead,  // without effect, so that a fault has none
  kAppend,
  kWriteAt,
  kAllocate,
  kSyncRange,
  kSync,
  kTruncate,
  kMap,
  kClose,
  kList,
  kRemove,
  kRename,
  kLink,
  kDirectorySync,
  kLock,
  kFreeBytes,
};
std::string_view ToString(FileOp op);

// True for calls that change the disk or make it durable.
bool IsMutation(FileOp op);

struct FileCall {
  uint64_t number = 0;
  FileOp op = FileOp::kOpenDirectory;
  std::string name = {};      // the file's name, or the directory's path for calls on a directory
  std::string new_name = {};  // for a rename or link
  uint64_t offset = 0;
  uint64_t length = 0;
  uint64_t together = 0;  // the same for all reads of one ReadMany, or all syncs of one SyncMany; 0: alone
};
// "append 000001.log 133", "write 000001.log 12 at 4096", "rename a b".
std::string ToString(const FileCall& call);

enum class Fault : uint8_t {
  kNone,
  kIoError,       // Internal; the call has no effect
  kNoSpace,       // ResourceExhausted; the call has no effect
  kTooManyFiles,  // ResourceExhausted; the call has no effect
  kNoMemory,      // ResourceExhausted, as for ENOMEM; the call has no effect
  kShortWrite,    // Append and WriteAt write half of the bytes, then ResourceExhausted; other calls behave as with
                  // kIoError
  kFailAfter,     // Internal, after the call has taken effect
};

// Which calls fail, and how.
struct FaultRule {
  Fault fault = Fault::kIoError;
  std::optional<FileOp> op = {};   // any if not set
  bool mutations_only = false;     // see IsMutation
  std::string name_contains = {};  // any if empty
  uint64_t skip = 0;               // this many matching calls succeed first
  bool sticky = false;             // every matching call from then on fails, not only one
};

class FaultFileSystem final : public FileSystem {
 public:
  using Decider = std::function<Fault(const FileCall&)>;
  using Hold = std::function<void(const FileCall&)>;

  // `base` must outlive this object and all its handles.
  explicit FaultFileSystem(FileSystem* base);
  ~FaultFileSystem() override;

  // Applies the rule to calls that begin later. Rules are checked in order, and the first fault counts.
  void Inject(FaultRule rule);
  // The same with a function, which is called before the rules are checked, for one call at a time: no other call
  // begins while it runs. It must not call this file system.
  void SetDecider(Decider decider);
  // Sets a function that runs before each call is numbered, in several threads at once and with no lock held: it delays
  // the call until it returns, while others continue. It must not call this file system.
  void SetHold(Hold hold);
  // Removes all rules, the decider and the hold.
  void Clear();
  uint64_t CallCount() const;
  // The number of calls that failed by injection.
  uint64_t FaultCount() const;
  // The calls since tracing was switched on, one on each line; TakeTrace empties the trace.
  void SetTracing(bool on);
  std::string TakeTrace();

  absl::StatusOr<std::unique_ptr<Directory>> OpenDirectory(std::string_view path, bool create) override;
  absl::Status RemoveDirectory(std::string_view path) override;
  size_t MaxOpenFiles() const override { return base_->MaxOpenFiles(); }
  std::string Notice() const override { return base_->Notice(); }

  class State;

 private:
  FileSystem* const base_;
  const std::shared_ptr<State> state_;
};

}  // namespace sepal
