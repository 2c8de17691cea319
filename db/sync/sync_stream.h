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
  // The longest payload: an entry with the largest key and value, and the fields around it.
  static constexpr uint32_t kMostPayloadBytes = (uint32_t{1} << 30) + (uint32_t{1} << 20);

  explicit SyncStream(SyncChannel* stream) : stream_(stream) {}

  absl::Status Send(SyncMessage type, std::string_view payload);
  // Reads any message; DataLoss for a damaged one. An error message of the other side becomes the status.
  absl::StatusOr<SyncMessage> Receive(std::string* payload);
  // Reads a message of that type; DataLoss for another one.
  absl::Status Expect(SyncMessage type, std::string* payload);
  // Sends the other side the reason why this one ends; ignores failures.
  void SendError(const absl::Status& status);

  // Whether a write to the channel failed: the bytes that can still be read may give the reason.
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
