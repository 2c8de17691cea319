// How files are read through the pages of a cache.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "file_cache/layout.h"
#include "file_cache/page_store.h"
#include "sepal/file_system.h"

namespace sepal::file_cache {

// A file whose pages are kept, as those who have it open share it.
struct KeptFile {
  explicit KeptFile(const FileKey& of) : key(of) {}
  const FileKey key;
  std::atomic<uint64_t> bytes{0};
  std::atomic<bool> gone{false};  // removed, or going to be changed: no page of it is kept any more
};

class CachedReader final : public ReadableFile {
 public:
  // `file` and `store` may be null: nothing is kept then.
  CachedReader(std::unique_ptr<ReadableFile> base, std::shared_ptr<PageStore> store, std::shared_ptr<KeptFile> file,
               uint64_t bytes)
      : base_(std::move(base)), store_(std::move(store)), file_(std::move(file)), bytes_(bytes) {}

  absl::StatusOr<size_t> Read(uint64_t offset, size_t length, char* buffer) const override;
  absl::StatusOr<uint64_t> Size() const override { return base_->Size(); }
  size_t ReadCached(uint64_t offset, size_t length, char* buffer) const override;
  void Advise(AccessPattern pattern) const override { base_->Advise(pattern); }
  void ReadAhead(uint64_t offset, uint64_t length) const override;
  std::string UniqueId() const override { return base_->UniqueId(); }

  const ReadableFile& base() const { return *base_; }
  PageStore& store() const { return *store_; }
  KeptFile& file() const { return *file_; }
  uint64_t bytes() const { return bytes_; }
  bool keeps() const { return file_ != nullptr && !file_->gone.load(std::memory_order_acquire); }

 private:
  const std::unique_ptr<ReadableFile> base_;
  const std::shared_ptr<PageStore> store_;
  const std::shared_ptr<KeptFile> file_;
  const uint64_t bytes_;  // of the file, which is complete
};

// The files must be CachedReaders, and `base` the directory of their base files.
void ReadManyCached(const Directory& base, std::span<ReadRequest> requests,
                    const std::function<void(ReadRequest&)>& done);

}  // namespace sepal::file_cache
