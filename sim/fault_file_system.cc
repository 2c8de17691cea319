#include "sepal/simulation/fault_file_system.h"

#include <atomic>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_format.h"
#include "sepal/simulation/memory_file_system.h"
#include "util/base/no_memory.h"
#include "util/base/status.h"
#include "util/thread/sync.h"

namespace sepal {

std::string_view ToString(FileOp op) {
  switch (op) {
    case FileOp::kOpenDirectory:
      return "open-directory";
    case FileOp::kRemoveDirectory:
      return "remove-directory";
    case FileOp::kOpenRead:
      return "open-read";
    case FileOp::kOpenWrite:
      return "open-write";
    case FileOp::kRead:
      return "read";
    case FileOp::kReadAhead:
      return "ask-for";
    case FileOp::kFileSize:
      return "file-size";
    case FileOp::kAppend:
      return "append";
    case FileOp::kWriteAt:
      return "write";
    case FileOp::kAllocate:
      return "allocate";
    case FileOp::kSyncRange:
      return "sync-range";
    case FileOp::kSync:
      return "sync";
    case FileOp::kTruncate:
      return "truncate";
    case FileOp::kMap:
      return "map";
    case FileOp::kClose:
      return "close";
    case FileOp::kList:
      return "list";
    case FileOp::kRemove:
      return "remove";
    case FileOp::kRename:
      return "rename";
    case FileOp::kLink:
      return "link";
    case FileOp::kDirectorySync:
      return "sync-directory";
    case FileOp::kLock:
      return "lock";
    case FileOp::kFreeBytes:
      return "free-bytes";
  }
  return "?";
}

bool IsMutation(FileOp op) {
  switch (op) {
    case FileOp::kOpenWrite:
    case FileOp::kAppend:
    case FileOp::kWriteAt:
    case FileOp::kAllocate:
    case FileOp::kSyncRange:
    case FileOp::kSync:
    case FileOp::kTruncate:
    case FileOp::kMap:
    case FileOp::kClose:
    case FileOp::kRemove:
    case FileOp::kRename:
    case FileOp::kLink:
    case FileOp::kDirectorySync:
    case FileOp::kRemoveDirectory:
      return true;
    case FileOp::kOpenDirectory:
    case FileOp::kOpenRead:
    case FileOp::kRead:
    case FileOp::kReadAhead:
    case FileOp::kFileSize:
    case FileOp::kList:
    case FileOp::kLock:
    case FileOp::kFreeBytes:
      return false;
  }
  return false;
}

std::string ToString(const FileCall& call) {
  std::string text = absl::StrFormat("%s %s", ToString(call.op), call.name);
  if (!call.new_name.empty()) text += " " + call.new_name;
  if (call.op == FileOp::kAppend) return text + absl::StrFormat(" %u", call.length);
  if (call.op == FileOp::kTruncate) return text + absl::StrFormat(" to %u", call.offset);
  if (call.length != 0 || call.offset != 0) text += absl::StrFormat(" %u at %u", call.length, call.offset);
  return text;
}

// Numbers the calls and decides which of them fail. Shared by the file system and all its handles.
class FaultFileSystem::State {
 public:
  Fault Begin(FileCall call) {
    if (holds_.load(std::memory_order_acquire)) HoldBack(call);
    MutexLock lock(&mutex_);
    call.number = ++calls_;
    if (tracing_) trace_ += ToString(call) + "\n";
    Fault fault = decider_ ? decider_(call) : Fault::kNone;
    for (Armed& armed : rules_) {
      if (fault != Fault::kNone) break;
      if (Matches(armed.rule, call) && armed.matched++ >= armed.rule.skip && (armed.rule.sticky || !armed.fired)) {
        armed.fired = true;
        fault = armed.rule.fault;
      }
    }
    if (fault != Fault::kNone) ++faults_;
    return fault;
  }

  // Carries out a call, with or without `effect`, depending on the fault.
  template <typename Effect>
  auto Run(FileCall call, Effect effect) -> decltype(effect()) {
    const std::string what = ToString(call);
    const Fault fault = Begin(std::move(call));
    if (fault == Fault::kNone) return effect();
    if (fault == Fault::kFailAfter) (void)effect();
    return Error(fault, what);
  }

  static absl::Status Error(Fault fault, std::string_view what) {
    switch (fault) {
      case Fault::kNone:
        return absl::OkStatus();
      case Fault::kIoError:
      case Fault::kFailAfter:
        return absl::InternalError(absl::StrFormat("%s: injected I/O error", what));
      case Fault::kNoSpace:
      case Fault::kShortWrite:
        return absl::ResourceExhaustedError(absl::StrFormat("%s: injected: no space left", what));
      case Fault::kTooManyFiles:
        return absl::ResourceExhaustedError(absl::StrFormat("%s: injected: too many open files", what));
      case Fault::kNoMemory:
        return MarkNoMemory(
            absl::ResourceExhaustedError(absl::StrFormat("%s: injected: cannot allocate memory", what)));
    }
    return absl::OkStatus();
  }

  void Inject(FaultRule rule) {
    MutexLock lock(&mutex_);
    rules_.push_back({.rule = std::move(rule)});
  }
  void SetDecider(Decider decider) {
    MutexLock lock(&mutex_);
    decider_ = std::move(decider);
  }
  void SetHold(Hold hold) {
    MutexLock lock(&mutex_);
    holds_.store(hold != nullptr, std::memory_order_release);
    hold_ = hold ? std::make_shared<const Hold>(std::move(hold)) : nullptr;
  }
  void Clear() {
    MutexLock lock(&mutex_);
    rules_.clear();
    decider_ = nullptr;
    hold_ = nullptr;
    holds_.store(false, std::memory_order_release);
  }
  // Returns a number for the requests of one call.
  uint64_t NewGroup() { return ++groups_; }
  uint64_t calls() {
    MutexLock lock(&mutex_);
    return calls_;
  }
  uint64_t faults() {
    MutexLock lock(&mutex_);
    return faults_;
  }
  void SetTracing(bool on) {
    MutexLock lock(&mutex_);
    tracing_ = on;
    trace_.clear();
  }
  std::string TakeTrace() {
    MutexLock lock(&mutex_);
    return std::exchange(trace_, {});
  }

 private:
  struct Armed {
    FaultRule rule;
    uint64_t matched = 0;
    bool fired = false;
  };

  void HoldBack(const FileCall& call) {
    std::shared_ptr<const Hold> hold;
    {
      MutexLock lock(&mutex_);
      hold = hold_;
    }
    if (hold != nullptr) (*hold)(call);
  }

  static bool Matches(const FaultRule& rule, const FileCall& call) {
    return (!rule.op || *rule.op == call.op) && (!rule.mutations_only || IsMutation(call.op)) &&
           (call.name.find(rule.name_contains) != std::string::npos ||
            call.new_name.find(rule.name_contains) != std::string::npos);
  }

  std::atomic<uint64_t> groups_{0};
  std::atomic<bool> holds_{false};  // whether there is a hold; without one no call takes the mutex twice
  Mutex mutex_;
  Decider decider_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const Hold> hold_ ABSL_GUARDED_BY(mutex_);
  std::vector<Armed> rules_ ABSL_GUARDED_BY(mutex_);
  uint64_t calls_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t faults_ ABSL_GUARDED_BY(mutex_) = 0;
  bool tracing_ ABSL_GUARDED_BY(mutex_) = false;
  std::string trace_ ABSL_GUARDED_BY(mutex_);
};

namespace {

using State = FaultFileSystem::State;
using StatePtr = std::shared_ptr<State>;

// A sync that fails before it takes effect must leave nothing for a later sync to cover.
template <typename Target>
absl::Status RunSync(State& state, FileCall call, Target& base) {
  const std::string what = ToString(call);
  const Fault fault = state.Begin(std::move(call));
  if (fault == Fault::kNone) return base.Sync();
  if (fault == Fault::kFailAfter) {
    (void)base.Sync();
  } else if (auto* loser = dynamic_cast<UnsyncedLoser*>(&base)) {
    loser->LoseUnsynced();
  }
  return State::Error(fault, what);
}

class FaultReadableFile final : public ReadableFile {
 public:
  FaultReadableFile(StatePtr state, std::unique_ptr<ReadableFile> base, std::string name)
      : state_(std::move(state)), base_(std::move(base)), name_(std::move(name)) {}

  absl::StatusOr<size_t> Read(uint64_t offset, size_t length, char* buffer) const override {
    return ReadWithOthers(0, offset, length, buffer);
  }
  absl::StatusOr<size_t> ReadWithOthers(uint64_t together, uint64_t offset, size_t length, char* buffer) const {
    return state_->Run({.op = FileOp::kRead, .name = name_, .offset = offset, .length = length, .together = together},
                       [&] { return base_->Read(offset, length, buffer); });
  }
  absl::StatusOr<uint64_t> Size() const override {
    return state_->Run({.op = FileOp::kFileSize, .name = name_}, [&] { return base_->Size(); });
  }
  void Advise(AccessPattern pattern) const override { base_->Advise(pattern); }
  void ReadAhead(uint64_t offset, uint64_t length) const override {
    (void)state_->Begin({.op = FileOp::kReadAhead, .name = name_, .offset = offset, .length = length});
    base_->ReadAhead(offset, length);
  }
  std::string UniqueId() const override { return base_->UniqueId(); }

 private:
  const StatePtr state_;
  const std::unique_ptr<ReadableFile> base_;
  const std::string name_;
};

class FaultWritableFile final : public WritableFile {
 public:
  FaultWritableFile(StatePtr state, std::unique_ptr<WritableFile> base, std::string name)
      : state_(std::move(state)), base_(std::move(base)), name_(std::move(name)) {}

  absl::Status Append(std::string_view bytes) override {
    return Write({.op = FileOp::kAppend, .name = name_, .length = bytes.size()}, bytes,
                 [&](std::string_view part) { return base_->Append(part); });
  }
  absl::Status WriteAt(uint64_t offset, std::string_view bytes) override {
    return Write({.op = FileOp::kWriteAt, .name = name_, .offset = offset, .length = bytes.size()}, bytes,
                 [&](std::string_view part) { return base_->WriteAt(offset, part); });
  }
  absl::Status Allocate(uint64_t offset, uint64_t length) override {
    return state_->Run({.op = FileOp::kAllocate, .name = name_, .offset = offset, .length = length},
                       [&] { return base_->Allocate(offset, length); });
  }
  absl::Status SyncRange(uint64_t offset, uint64_t length) override {
    return state_->Run({.op = FileOp::kSyncRange, .name = name_, .offset = offset, .length = length},
                       [&] { return base_->SyncRange(offset, length); });
  }
  absl::Status Sync() override { return SyncWithOthers(0); }
  absl::Status SyncWithOthers(uint64_t together) {
    return RunSync(*state_, {.op = FileOp::kSync, .name = name_, .together = together}, *base_);
  }
  absl::Status Truncate(uint64_t size) override {
    return state_->Run({.op = FileOp::kTruncate, .name = name_, .offset = size}, [&] { return base_->Truncate(size); });
  }
  absl::StatusOr<std::unique_ptr<MappedRegion>> Map(uint64_t offset, size_t length) override {
    return state_->Run({.op = FileOp::kMap, .name = name_, .offset = offset, .length = length},
                       [&] { return base_->Map(offset, length); });
  }
  uint64_t Size() const override { return base_->Size(); }
  absl::Status Close() override {
    return state_->Run({.op = FileOp::kClose, .name = name_}, [&] { return base_->Close(); });
  }
  std::string UniqueId() const override { return base_->UniqueId(); }

 private:
  template <typename Writer>
  absl::Status Write(FileCall call, std::string_view bytes, Writer write) {
    const std::string what = ToString(call);
    const Fault fault = state_->Begin(std::move(call));
    if (fault == Fault::kNone) return write(bytes);
    if (fault == Fault::kFailAfter) (void)write(bytes);
    if (fault == Fault::kShortWrite) (void)write(bytes.substr(0, bytes.size() / 2));
    return State::Error(fault, what);
  }

  const StatePtr state_;
  const std::unique_ptr<WritableFile> base_;
  const std::string name_;
};

class FaultDirectory final : public Directory {
 public:
  FaultDirectory(StatePtr state, std::unique_ptr<Directory> base) : state_(std::move(state)), base_(std::move(base)) {}

  Capabilities capabilities() const override { return base_->capabilities(); }
  const std::string& path() const override { return base_->path(); }
  std::string Identity() const override { return base_->Identity(); }

  absl::StatusOr<std::unique_ptr<ReadableFile>> OpenForRead(std::string_view name, ReadMode mode) override {
    return state_->Run({.op = FileOp::kOpenRead, .name = std::string(name)},
                       [&]() -> absl::StatusOr<std::unique_ptr<ReadableFile>> {
                         ASSIGN_OR_RETURN(std::unique_ptr<ReadableFile> file, base_->OpenForRead(name, mode));
                         return std::make_unique<FaultReadableFile>(state_, std::move(file), std::string(name));
                       });
  }
  void ReadMany(std::span<ReadRequest> requests, const std::function<void(ReadRequest&)>& done) const override {
    const uint64_t together = state_->NewGroup();
    for (ReadRequest& request : requests) {
      const absl::StatusOr<size_t> got = static_cast<const FaultReadableFile*>(request.file)
                                             ->ReadWithOthers(together, request.offset, request.length, request.buffer);
      request.status = got.status();
      request.bytes_read = got.value_or(0);
      done(request);
    }
  }
  absl::Status SyncMany(std::span<WritableFile* const> files) override {
    const uint64_t together = state_->NewGroup();
    for (WritableFile* const file : files) {
      auto* const own = dynamic_cast<FaultWritableFile*>(file);
      RETURN_IF_ERROR(own != nullptr ? own->SyncWithOthers(together) : file->Sync());
    }
    return absl::OkStatus();
  }
  absl::StatusOr<std::unique_ptr<WritableFile>> OpenForWrite(std::string_view name, WriteMode mode,
                                                             FileUse use) override {
    return state_->Run({.op = FileOp::kOpenWrite, .name = std::string(name)},
                       [&]() -> absl::StatusOr<std::unique_ptr<WritableFile>> {
                         ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, base_->OpenForWrite(name, mode, use));
                         return std::make_unique<FaultWritableFile>(state_, std::move(file), std::string(name));
                       });
  }
  absl::StatusOr<std::vector<DirectoryEntry>> List() override {
    return state_->Run({.op = FileOp::kList, .name = path()}, [&] { return base_->List(); });
  }
  absl::Status Remove(std::string_view name) override {
    return state_->Run({.op = FileOp::kRemove, .name = std::string(name)}, [&] { return base_->Remove(name); });
  }
  absl::Status Rename(std::string_view from, std::string_view to) override {
    return state_->Run({.op = FileOp::kRename, .name = std::string(from), .new_name = std::string(to)},
                       [&] { return base_->Rename(from, to); });
  }
  absl::Status Link(std::string_view name, Directory& target, std::string_view new_name) override {
    auto* wrapped = dynamic_cast<FaultDirectory*>(&target);
    Directory& base_target = wrapped != nullptr ? *wrapped->base_ : target;
    return state_->Run({.op = FileOp::kLink, .name = std::string(name), .new_name = std::string(new_name)},
                       [&] { return base_->Link(name, base_target, new_name); });
  }
  absl::Status Sync() override { return RunSync(*state_, {.op = FileOp::kDirectorySync, .name = path()}, *base_); }
  absl::StatusOr<std::unique_ptr<DirectoryLock>> Lock(std::string_view name, LockRequest mode) override {
    return state_->Run({.op = FileOp::kLock, .name = std::string(name)}, [&] { return base_->Lock(name, mode); });
  }
  absl::StatusOr<uint64_t> FreeBytes() override {
    return state_->Run({.op = FileOp::kFreeBytes, .name = path()}, [&] { return base_->FreeBytes(); });
  }

 private:
  const StatePtr state_;
  const std::unique_ptr<Directory> base_;
};

}  // namespace

FaultFileSystem::FaultFileSystem(FileSystem* base) : base_(base), state_(std::make_shared<State>()) {}
FaultFileSystem::~FaultFileSystem() = default;

void FaultFileSystem::Inject(FaultRule rule) { state_->Inject(std::move(rule)); }
void FaultFileSystem::SetDecider(Decider decider) { state_->SetDecider(std::move(decider)); }
void FaultFileSystem::SetHold(Hold hold) { state_->SetHold(std::move(hold)); }
void FaultFileSystem::Clear() { state_->Clear(); }
uint64_t FaultFileSystem::CallCount() const { return state_->calls(); }
uint64_t FaultFileSystem::FaultCount() const { return state_->faults(); }
void FaultFileSystem::SetTracing(bool on) { state_->SetTracing(on); }
std::string FaultFileSystem::TakeTrace() { return state_->TakeTrace(); }

absl::StatusOr<std::unique_ptr<Directory>> FaultFileSystem::OpenDirectory(std::string_view path, bool create) {
  return state_->Run({.op = FileOp::kOpenDirectory, .name = std::string(path)},
                     [&]() -> absl::StatusOr<std::unique_ptr<Directory>> {
                       ASSIGN_OR_RETURN(std::unique_ptr<Directory> base, base_->OpenDirectory(path, create));
                       return std::make_unique<FaultDirectory>(state_, std::move(base));
                     });
}

absl::Status FaultFileSystem::RemoveDirectory(std::string_view path) {
  return state_->Run({.op = FileOp::kRemoveDirectory, .name = std::string(path)},
                     [&] { return base_->RemoveDirectory(path); });
}

}  // namespace sepal
