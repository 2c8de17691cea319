// Open files and mappings of the in-memory file system.
#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_format.h"
#include "sim/memory_state.h"
#include "util/base/check.h"
#include "util/base/status.h"

namespace sepal {

absl::Status DiedInCrash(std::string_view path, std::string_view operation) {
  return absl::InternalError(absl::StrFormat("%s: %s: the file system crashed after this was opened", path, operation));
}

MemoryLife::MemoryLife(std::shared_ptr<MemoryFileSystem::State> of, std::shared_ptr<MemoryClient> whose)
    : state(std::move(of)), client(std::move(whose)), generation_(state->generation), life_(client->life) {}

bool MemoryLife::counted() const { return generation_ == state->generation; }

absl::Status MemoryLife::CheckAlive(std::string_view path, std::string_view operation) const {
  if (!counted()) return DiedInCrash(path, operation);
  if (life_ == client->life) return absl::OkStatus();
  return absl::InternalError(absl::StrFormat("%s: %s: the client died after this was opened", path, operation));
}

absl::Status MemoryLife::CheckMayChange(std::string_view path, std::string_view operation) const {
  RETURN_IF_ERROR(CheckAlive(path, operation));
  if (client->fenced.empty() || client->fenced_generation != generation_) return absl::OkStatus();
  return absl::AbortedError(absl::StrFormat("%s: %s: %s", path, operation, client->fenced));
}

MemoryHandle::MemoryHandle(MemoryLife life, MemoryNodePtr node, std::string path)
    : life_(std::move(life)), node_(std::move(node)), path_(std::move(path)) {
  ++node_->handles;
}

MemoryHandle::~MemoryHandle() {
  MutexLock lock(&life_.state->mutex);
  EndWriting();
  if (!life_.counted()) return;
  --node_->handles;
  life_.state->Recharge(node_.get());
}

void MemoryHandle::BeginWriting() {
  writing_ = true;
  ++node_->writers;
}

// A crash has forgotten earlier writers.
void MemoryHandle::EndWriting() {
  if (std::exchange(writing_, false) && life_.counted()) --node_->writers;
}

absl::Status MemoryHandle::CheckReadable(std::string_view operation) const {
  RETURN_IF_ERROR(CheckAlive(operation));
  if (node_->names > 0 || node_->remover == nullptr || node_->remover == life_.client.get()) return absl::OkStatus();
  if (life_.state->keeps_removed) return absl::OkStatus();
  return absl::AbortedError(absl::StrFormat("%s: %s: another client has removed the file", path_, operation));
}

absl::Status MemoryHandle::CheckWritable(std::string_view operation) const {
  RETURN_IF_ERROR(life_.CheckMayChange(path_, operation));
  node_->writer = life_.client.get();
  if (!life_.state->capabilities.outlives_process) node_->RememberUnsent();
  return absl::OkStatus();
}

namespace {

using MemoryState = MemoryFileSystem::State;

std::string IdOf(uint64_t number) { return absl::StrFormat("memory:%u", number); }

class MemoryReadableFile final : public ReadableFile {
 public:
  explicit MemoryReadableFile(std::unique_ptr<MemoryHandle> handle)
      : handle_(std::move(handle)), number_(handle_->node()->writers == 0 ? handle_->node()->number() : 0) {}

  absl::StatusOr<size_t> Read(uint64_t offset, size_t length, char* buffer) const override {
    MutexLock lock(&handle_->state().mutex);
    RETURN_IF_ERROR(handle_->CheckReadable("read"));
    const std::string& contents = handle_->node()->contents();
    if (length == 0 || offset >= contents.size()) return size_t{0};
    const size_t count = std::min<size_t>(length, contents.size() - offset);
    std::memcpy(buffer, contents.data() + offset, count);
    return count;
  }

  absl::StatusOr<uint64_t> Size() const override {
    MutexLock lock(&handle_->state().mutex);
    RETURN_IF_ERROR(handle_->CheckReadable("size"));
    return handle_->node()->size();
  }
  std::string UniqueId() const override { return number_ == 0 ? std::string() : IdOf(number_); }

 private:
  const std::unique_ptr<MemoryHandle> handle_;
  const uint64_t number_;  // 0: it was being written when it was opened
};

// A mapping has its own copy of the bytes, so that `Contents` does not move while the file grows. Writes through the
// file reach it through `MemoryNode::mappings`.
class MemoryRegion final : public MappedRegion, public MemoryMapping {
 public:
  MemoryRegion(std::unique_ptr<MemoryHandle> handle, uint64_t offset, size_t length)
      : handle_(std::move(handle)), offset_(offset), bytes_(handle_->node()->contents().substr(offset, length)) {
    handle_->node()->mappings.push_back(this);
  }

  ~MemoryRegion() override {
    MutexLock lock(&handle_->state().mutex);
    std::erase(handle_->node()->mappings, this);
  }

  void Store(size_t offset, std::string_view bytes) override {
    SEPAL_CHECK(offset <= bytes_.size() && bytes.size() <= bytes_.size() - offset);
    MutexLock lock(&handle_->state().mutex);
    const uint64_t file_size = handle_->node()->size();
    if (!handle_->CheckWritable("store").ok() || offset_ + offset >= file_size) return;
    handle_->node()->Write(offset_ + offset, bytes.substr(0, file_size - offset_ - offset));
  }

  bool Lock() override { return true; }
  std::string_view Contents() const override { return bytes_; }

  void Show(uint64_t file_offset, std::string_view bytes) override {
    const uint64_t begin = std::max(offset_, file_offset);
    const uint64_t end = std::min(offset_ + bytes_.size(), file_offset + bytes.size());
    // Copies only the bytes of the write: other threads may be reading the others.
    if (begin < end) std::memcpy(bytes_.data() + (begin - offset_), bytes.data() + (begin - file_offset), end - begin);
  }

 private:
  const std::unique_ptr<MemoryHandle> handle_;
  const uint64_t offset_;
  std::string bytes_;  // its length never changes
};

class MemoryWritableFile final : public WritableFile, public UnsyncedLoser {
 public:
  // Requires the state's mutex.
  MemoryWritableFile(std::unique_ptr<MemoryHandle> handle, uint64_t size)
      : handle_(std::move(handle)), number_(handle_->node()->number()), size_(size) {
    handle_->BeginWriting();
  }

  absl::Status Append(std::string_view bytes) override {
    MutexLock lock(&handle_->state().mutex);
    RETURN_IF_ERROR(CheckUse("append"));
    RETURN_IF_ERROR(Write(size_, bytes));
    size_ += bytes.size();
    return absl::OkStatus();
  }

  absl::Status WriteAt(uint64_t offset, std::string_view bytes) override {
    MutexLock lock(&handle_->state().mutex);
    RETURN_IF_ERROR(CheckUse("write"));
    RETURN_IF_ERROR(Write(offset, bytes));
    if (!bytes.empty()) size_ = std::max(size_, offset + bytes.size());
    return absl::OkStatus();
  }

  absl::Status Allocate(uint64_t offset, uint64_t length) override {
    MemoryState& state = handle_->state();
    MutexLock lock(&state.mutex);
    RETURN_IF_ERROR(CheckUse("allocate"));
    if (!state.capabilities.allocate) return absl::OkStatus();
    MemoryNode& node = *handle_->node();
    const uint64_t taken = node.SpaceTaken();
    if (offset + length > taken && offset + length - taken > state.FreeBytes()) return DiskIsFull("allocate");
    node.Reserve(offset + length);
    state.Recharge(&node);
    return absl::OkStatus();
  }

  absl::Status SyncRange(uint64_t, uint64_t) override {
    MutexLock lock(&handle_->state().mutex);
    return CheckUse("sync range");
  }

  absl::Status Sync() override {
    MutexLock lock(&handle_->state().mutex);
    RETURN_IF_ERROR(CheckUse("sync"));
    handle_->node()->Sync();
    return absl::OkStatus();
  }

  absl::Status Truncate(uint64_t size) override {
    MemoryState& state = handle_->state();
    MutexLock lock(&state.mutex);
    RETURN_IF_ERROR(CheckUse("truncate"));
    MemoryNode& node = *handle_->node();
    if (size > node.SpaceTaken() && size - node.SpaceTaken() > state.FreeBytes()) return DiskIsFull("truncate");
    node.Resize(size);
    state.Recharge(&node);
    size_ = size;
    return absl::OkStatus();
  }

  absl::StatusOr<std::unique_ptr<MappedRegion>> Map(uint64_t offset, size_t length) override {
    if (!handle_->state().capabilities.map) return WritableFile::Map(offset, length);
    MutexLock lock(&handle_->state().mutex);
    RETURN_IF_ERROR(CheckUse("map"));
    const uint64_t file_size = handle_->node()->size();
    if (length == 0 || offset % 4096 != 0 || offset > file_size || length > file_size - offset) {
      return absl::InvalidArgumentError(
          absl::StrFormat("%s: map %u bytes at %u: the file has %u bytes", handle_->path(), length, offset, file_size));
    }
    auto handle = std::make_unique<MemoryHandle>(handle_->life(), handle_->node(), handle_->path());
    return std::make_unique<MemoryRegion>(std::move(handle), offset, length);
  }

  uint64_t Size() const override { return size_; }

  absl::Status Close() override {
    MutexLock lock(&handle_->state().mutex);
    RETURN_IF_ERROR(CheckUse("close"));
    closed_ = true;
    handle_->EndWriting();
    return absl::OkStatus();
  }
  std::string UniqueId() const override { return IdOf(number_); }

  void LoseUnsynced() override {
    MutexLock lock(&handle_->state().mutex);
    handle_->node()->LoseUnsynced();
  }

 private:
  absl::Status CheckUse(std::string_view operation) const {
    RETURN_IF_ERROR(handle_->CheckWritable(operation));
    if (!closed_) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrFormat("%s: %s: the file is closed", handle_->path(), operation));
  }

  absl::Status DiskIsFull(std::string_view operation) const {
    return absl::ResourceExhaustedError(absl::StrFormat("%s: %s: no space left", handle_->path(), operation));
  }

  // Writes as many bytes as the disk has room for.
  absl::Status Write(uint64_t offset, std::string_view bytes) const {
    MemoryState& state = handle_->state();
    state.mutex.AssertHeld();
    MemoryNode& node = *handle_->node();
    const uint64_t writable_end = node.SpaceTaken() + state.FreeBytes();
    const uint64_t fits = offset >= writable_end ? 0 : std::min<uint64_t>(bytes.size(), writable_end - offset);
    node.Write(offset, bytes.substr(0, fits));
    state.Recharge(&node);
    return fits == bytes.size() ? absl::OkStatus() : DiskIsFull("write");
  }

  const std::unique_ptr<MemoryHandle> handle_;
  const uint64_t number_;
  uint64_t size_;
  bool closed_ = false;
};

}  // namespace

std::unique_ptr<ReadableFile> MakeMemoryReadableFile(std::unique_ptr<MemoryHandle> handle) {
  return std::make_unique<MemoryReadableFile>(std::move(handle));
}

std::unique_ptr<WritableFile> MakeMemoryWritableFile(std::unique_ptr<MemoryHandle> handle, uint64_t size) {
  return std::make_unique<MemoryWritableFile>(std::move(handle), size);
}

}  // namespace sepal
