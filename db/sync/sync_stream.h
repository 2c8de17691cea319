// Messages between the two sides of a sync (docs/reference/sync-protocol.md): type and length
// with a checksum, the payload, and a checksum of that.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sepal/sync.h"

namespace sepal {

enum class SyncMessage : uint8_t {
  kHello = 1,
  kError = 2,
  kFamily = 3,
  kRanges = 4,
  kDiffering = 5,
  kFilter = 6,
  kItems = 7,
  kEnd = 8,
  kConflicts = 9,
  kDone = 10,
};

class SyncStream {
 public:
  // No payload is longer: an entry of the largest key and value, and what stands around it.
  static constexpr uint32_t kMostPayloadBytes = (uint32_t{1} << 30) + (uint32_t{1} << 20);

  explicit SyncStream(SyncChannel* stream) : stream_(stream) {}

  absl::Status Send(SyncMessage type, std::string_view payload);
  // Any message; DataLoss for one that is damaged. What the other side says of an error is its status.
  absl::StatusOr<SyncMessage> Receive(std::string* payload);
  // A message of that type; DataLoss for another.
  absl::Status Expect(SyncMessage type, std::string* payload);
  // Tells the other side why this one ends; what goes wrong with that is left aside.
  void SendError(const absl::Status& status);

  // Whether the channel did not take what was sent: what can still be read says why.
  bool sending_failed() const { return sending_failed_; }
  uint64_t sent_bytes() const { return sent_bytes_; }
  uint64_t received_bytes() const { return received_bytes_; }

 private:
  absl::Status Write(std::string_view bytes);
  absl::Status ReadPayload(uint32_t size, std::string* payload);

  SyncChannel* const stream_;
  bool sending_failed_ = false;
  uint64_t sent_bytes_ = 0;
  uint64_t received_bytes_ = 0;
};

}  // namespace sepal
