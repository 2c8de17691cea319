#include "table/file/batched_reads.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "util/base/status.h"
#include "util/stats/perf_times.h"

namespace sepal {
namespace {

constexpr uint64_t kMaxExtentBytes = 256 << 10;

// Units of one file that are read in one request: those of the order from `first` up to but not including `last`.
struct Extent {
  const BlockSource* source;
  uint64_t begin;
  uint64_t end;
  size_t first;
  size_t last;
  // Receives a large unit, which is alone in its extent, and keeps it.
  BlockBuffer unit = {};

  bool IsLarge() const { return end - begin > kMaxExtentBytes; }
};

class Batch {
 public:
  Batch(std::span<const UnitWant> wants, const std::function<void(size_t, absl::StatusOr<CachePin>)>& got)
      : wants_(wants), got_(got) {}

  void Run(const Directory& directory) {
    Sort();
    Gather();
    size_t bytes = 0;
    for (const Extent& extent : extents_) bytes += extent.IsLarge() ? 0 : extent.end - extent.begin;
    const auto buffer = std::make_unique_for_overwrite<char[]>(bytes);
    std::vector<ReadRequest> requests(extents_.size());
    char* next = buffer.get();
    for (size_t i = 0; i < extents_.size(); ++i) {
      Extent& extent = extents_[i];
      const size_t length = extent.end - extent.begin;
      requests[i].file = extent.source->context().file;
      requests[i].offset = extent.begin;
      requests[i].length = length;
      if (extent.IsLarge()) {
        extent.unit = BlockBuffer(length - kUnitTrailerBytes);
        requests[i].buffer = extent.unit.data();
      } else {
        requests[i].buffer = std::exchange(next, next + length);
      }
    }
    const PerfTimer timer(PerfPart::kRead);
    const size_t missing = HandOutCached(requests);
    directory.ReadMany(std::span(requests).first(missing), [&](ReadRequest& request) {
      HandOut(&extents_[static_cast<size_t>(&request - requests.data())], request);
    });
    for (size_t i = 0; i < missing; ++i) TellFromDisk(extents_[i]);
  }

 private:
  void Sort() {
    order_.reserve(wants_.size());
    for (size_t i = 0; i < wants_.size(); ++i) {
      const UnitWant& want = wants_[i];
      if (absl::Status status = want.source->CheckHandle(want.handle, want.kind); status.ok()) {
        order_.push_back(i);
      } else {
        got_(i, std::move(status));
      }
    }
    std::sort(order_.begin(), order_.end(), [this](size_t a, size_t b) {
      const UnitWant& x = wants_[a];
      const UnitWant& y = wants_[b];
      if (x.source != y.source) return std::less<>()(x.source, y.source);
      return std::tie(x.handle.offset, x.handle.size) < std::tie(y.handle.offset, y.handle.size);
    });
  }

  void Gather() {
    for (size_t i = 0; i < order_.size(); ++i) {
      const UnitWant& want = wants_[order_[i]];
      const uint64_t end = EndOf(want.handle);
      if (!extents_.empty()) {
        Extent& last = extents_.back();
        if (last.source == want.source && want.handle.offset <= last.end && end - last.begin <= kMaxExtentBytes) {
          last.end = std::max(last.end, end);
          last.last = i + 1;
          continue;
        }
      }
      extents_.push_back({want.source, want.handle.offset, end, i, i + 1});
    }
  }

  // Delivers what the system has in memory. Moves the other requests to the front and returns their number.
  size_t HandOutCached(std::span<ReadRequest> requests) {
    size_t missing = 0;
    for (size_t i = 0; i < requests.size(); ++i) {
      ReadRequest& request = requests[i];
      Extent& extent = extents_[i];
      if (extent.source->read_around().ReadCached(request.offset, request.length, request.buffer)) {
        request.bytes_read = request.length;
        HandOut(&extent, request);
        continue;
      }
      if (missing != i) {
        requests[missing] = request;
        extents_[missing] = std::move(extent);
      }
      ++missing;
    }
    return missing;
  }

  void TellFromDisk(const Extent& extent) {
    for (size_t i = extent.first; i < extent.last; ++i) {
      const UnitWant& want = wants_[order_[i]];
      if (want.from_disk != nullptr) {
        *want.from_disk = true;
      } else {
        want.source->ReadAroundAfter(want.handle);
      }
    }
  }

  void HandOut(Extent* extent, const ReadRequest& request) {
    extent->source->CountRead(request.length);
    const bool alone = extent->last - extent->first == 1;
    for (size_t i = extent->first; i < extent->last; ++i) {
      const UnitWant& want = wants_[order_[i]];
      if (!request.status.ok()) {
        // The failure of one unit must not fail its neighbours.
        got_(order_[i], alone ? request.status : ReadAlone(want));
        continue;
      }
      if (alone && extent->IsLarge() && request.bytes_read == request.length) {
        got_(order_[i], Keep(want, want.source->DecodeInPlace(want.handle, want.kind, std::move(extent->unit))));
        continue;
      }
      const std::string_view bytes(request.buffer, request.bytes_read);
      const uint64_t skip = std::min<uint64_t>(want.handle.offset - extent->begin, bytes.size());
      got_(order_[i], Unpack(want, bytes.substr(skip, want.handle.size + kUnitTrailerBytes)));
    }
  }

  static absl::StatusOr<CachePin> Unpack(const UnitWant& want, std::string_view bytes) {
    return Keep(want, want.source->Decode(want.handle, want.kind, bytes));
  }

  // A damaged unit is read once more before it is reported as damaged.
  static absl::StatusOr<CachePin> Keep(const UnitWant& want, absl::StatusOr<BlockBuffer> buffer) {
    return buffer.ok() ? Keep(want, *std::move(buffer)) : ReadAlone(want);
  }

  static absl::StatusOr<CachePin> ReadAlone(const UnitWant& want) {
    ASSIGN_OR_RETURN(BlockBuffer buffer, want.source->Read(want.handle, want.kind));
    return Keep(want, std::move(buffer));
  }

  static CachePin Keep(const UnitWant& want, BlockBuffer buffer) {
    return want.source->Keep(want.handle, want.kind, std::move(buffer), want.fill_cache, want.hint);
  }

  const std::span<const UnitWant> wants_;
  const std::function<void(size_t, absl::StatusOr<CachePin>)>& got_;
  std::vector<size_t> order_;
  std::vector<Extent> extents_;
};

}  // namespace

void FetchUnits(const Directory& directory, std::span<const UnitWant> wants,
                const std::function<void(size_t, absl::StatusOr<CachePin>)>& got) {
  Batch(wants, got).Run(directory);
}

}  // namespace sepal
