#include "db/act/files/value_window.h"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

#include "absl/status/statusor.h"
#include "table/file/table_writer.h"
#include "util/memory/block_buffer.h"
#include "util/stats/perf_times.h"

namespace sepal {

namespace {

class Held {
 public:
  explicit Held(WindowPool::Window* window) : window_(window) { window_->Hold(); }
  ~Held() { window_->LetGo(); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

 private:
  WindowPool::Window* const window_;
};

}  // namespace

size_t ValueWindow::Fill(std::span<const ValueReference> references) {
  const Held held(&window_);
  const size_t tried = Choose(references);
  if (order_.empty()) return tried;
  Gather(references);
  if (!requests_.empty()) {
    const PerfTimer timer(PerfPart::kRead);
    store_->directory_->ReadMany(requests_, [&](ReadRequest& request) {
      NoteRead(references, extents_[static_cast<size_t>(&request - requests_.data())], request);
    });
  }
  files_.clear();
  return tried;
}

// Chooses the values to read, ordered by file; a single one is not worth it.
size_t ValueWindow::Choose(std::span<const ValueReference> references) {
  pieces_.assign(references.size(), {});
  order_.clear();
  size_t wanted = 0;
  for (size_t i = 0; i < references.size(); ++i) {
    const ValueReference& reference = references[i];
    if (reference.stored_bytes == 0 || reference.value_bytes() > kLoneValueBytes) continue;
    if (store_->cache_->Sight(store_->KeyOf(reference)).end != nullptr) continue;
    pieces_[i].wanted = true;
    wanted += reference.stored_bytes;
    order_.push_back(i);
  }
  size_t tried = references.size();
  if (order_.size() >= 2) {
    const size_t room = window_.Take(0, wanted);
    while (wanted > room) {
      tried = order_.back();
      wanted -= references[order_.back()].stored_bytes;
      order_.pop_back();
    }
  }
  if (order_.size() < 2) {
    order_.clear();
    return std::max<size_t>(std::min<size_t>(tried, references.size()), 1);
  }
  std::sort(order_.begin(), order_.end(), [&](size_t a, size_t b) {
    const ValueReference& x = references[a];
    const ValueReference& y = references[b];
    return std::tie(x.file, x.offset) < std::tie(y.file, y.offset);
  });
  return tried;
}

void ValueWindow::Gather(std::span<const ValueReference> references) {
  extents_.clear();
  requests_.clear();
  size_t place = 0;
  FileNumber number;
  const ReadableFile* file = nullptr;
  for (size_t i = 0; i < order_.size(); ++i) {
    const ValueReference& reference = references[order_[i]];
    const bool known = i > 0 && number == reference.file;
    if (!known) {
      number = reference.file;
      files_.push_back(store_->Pin(number));
      const absl::StatusOr<const ReadableFile*> open = store_->Open(*files_.back());
      file = open.ok() ? *open : nullptr;
    }
    if (file == nullptr) continue;
    pieces_[order_[i]].place = place;
    ReadRequest* const last = requests_.empty() ? nullptr : &requests_.back();
    if (last != nullptr && last->file == file && last->offset + last->length == reference.offset &&
        last->length + reference.stored_bytes <= kMostBytesOfRead) {
      last->length += reference.stored_bytes;
      extents_.back().last = i + 1;
    } else {
      requests_.push_back({.file = file,
                           .offset = reference.offset,
                           .length = reference.stored_bytes,
                           .buffer = window_.data() + place});
      extents_.push_back({i, i + 1});
    }
    place += reference.stored_bytes;
  }
}

void ValueWindow::NoteRead(std::span<const ValueReference> references, const Extent& extent,
                           const ReadRequest& request) {
  if (!request.status.ok()) return;
  for (size_t i = extent.first; i < extent.last; ++i) {
    const ValueReference& reference = references[order_[i]];
    pieces_[order_[i]].there = reference.offset + reference.stored_bytes <= request.offset + request.bytes_read;
  }
}

CachePin ValueWindow::Take(size_t index, const ValueReference& reference, bool fill_cache) {
  if (index >= pieces_.size() || !pieces_[index].there) return {};
  BlockBuffer buffer;
  {
    const Held held(&window_);
    if (window_.data() == nullptr) {
      Forget();
      return {};
    }
    buffer = BlockBuffer(reference.stored_bytes);
    std::memcpy(buffer.data(), window_.data() + pieces_[index].place, reference.stored_bytes);
  }
  if (!IsStoredOf(reference, buffer.view())) return {};
  absl::StatusOr<CachePin> value = store_->Show(reference, std::move(buffer), fill_cache);
  return value.ok() ? *std::move(value) : CachePin();
}

}  // namespace sepal
