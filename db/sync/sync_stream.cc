#include "db/sync/sync_stream.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "db/sync/sync_messages.h"
#include "util/base/coding.h"
#include "util/base/hash.h"
#include "util/base/other_side.h"
#include "util/base/status.h"

namespace sepal {

namespace {

constexpr size_t kLengthEnd = 5;
constexpr size_t kHeaderBytes = kLengthEnd + 4;
constexpr size_t kChecksumBytes = 4;
// A hostile length costs no more memory than the bytes that arrive.
constexpr size_t kStepBytes = size_t{1} << 20;

// Small items take much more memory than bytes of a message, once they are decoded.
constexpr uint32_t MostPayloadBytes(SyncMessage type) {
  switch (type) {
    case SyncMessage::kHello:
      return uint32_t{kMostHelloBytes};
    case SyncMessage::kError:
    case SyncMessage::kFamily:
      return uint32_t{1} << 20;
    case SyncMessage::kConflicts:
      return uint32_t{kMostListBytes};
    case SyncMessage::kEnd:
    case SyncMessage::kDone:
      return 64;
    case SyncMessage::kRanges:
      return uint32_t{kMostRangesBytes};
    case SyncMessage::kDiffering:
    case SyncMessage::kFilter:
      return uint32_t{1} << 27;
    case SyncMessage::kItems:
      break;
  }
  return SyncStream::kMostPayloadBytes;
}

uint32_t ChecksumOf(std::string_view header, std::string_view payload) {
  return Checksum32(payload, Checksum64(header, 0));
}

std::string HeaderOf(SyncMessage type, uint32_t size) {
  std::string header(1, static_cast<char>(type));
  PutFixed32(&header, size);
  PutFixed32(&header, Checksum32(header, 0));
  return header;
}

absl::Status OfTheOtherSide(std::string_view payload) {
  Decoder decoder(payload);
  const auto code = static_cast<absl::StatusCode>(decoder.Byte());
  const std::string_view text = decoder.LengthPrefixed();
  if (!decoder.Done() || code == absl::StatusCode::kOk || code > absl::StatusCode::kUnauthenticated) {
    return StreamDamage("the other side sent an error that cannot be read");
  }
  return MarkOtherSide(absl::Status(code, absl::StrFormat("the other side: %s", text)));
}

}  // namespace

absl::Status SyncStream::Send(SyncMessage type, std::string_view payload) {
  if (payload.size() > MostPayloadBytes(type)) {
    return absl::ResourceExhaustedError(absl::StrFormat("a message of %u bytes is too long", payload.size()));
  }
  std::string header = HeaderOf(type, static_cast<uint32_t>(payload.size()));
  std::string trailer;
  PutFixed32(&trailer, ChecksumOf(header, payload));
  RETURN_IF_ERROR(Write(header));
  RETURN_IF_ERROR(Write(payload));
  RETURN_IF_ERROR(Write(trailer));
  sent_bytes_ += kHeaderBytes + payload.size() + kChecksumBytes;
  return absl::OkStatus();
}

absl::Status SyncStream::Write(std::string_view bytes) {
  absl::Status status = stream_->Write(bytes);
  if (!status.ok()) sending_failed_ = true;
  return status;
}

absl::Status SyncStream::ReadPayload(uint32_t size, std::string* payload) {
  payload->clear();
  while (payload->size() < size) {
    const size_t have = payload->size();
    payload->resize(have + std::min<size_t>(kStepBytes, size - have));
    RETURN_IF_ERROR(stream_->Read(payload->data() + have, payload->size() - have));
  }
  return absl::OkStatus();
}

absl::StatusOr<SyncMessage> SyncStream::Receive(std::string* payload) {
  std::string header(kHeaderBytes, '\0');
  RETURN_IF_ERROR(stream_->Read(header.data(), header.size()));
  const auto type = static_cast<uint8_t>(header[0]);
  const uint32_t size = DecodeFixed32(header.data() + 1);
  const bool known =
      type >= static_cast<uint8_t>(SyncMessage::kHello) && type <= static_cast<uint8_t>(SyncMessage::kDone);
  // With a wrong length both sides would wait for each other.
  const bool whole =
      DecodeFixed32(header.data() + kLengthEnd) == Checksum32(std::string_view(header).substr(0, kLengthEnd), 0);
  if (!known || !whole || size > MostPayloadBytes(static_cast<SyncMessage>(type))) {
    return StreamDamage(absl::StrFormat(
        "a message of type %u and %u bytes: the other side is no sepal sync-server, or prints something before it",
        type, size));
  }
  RETURN_IF_ERROR(ReadPayload(size, payload));
  char trailer[kChecksumBytes];
  RETURN_IF_ERROR(stream_->Read(trailer, sizeof trailer));
  received_bytes_ += kHeaderBytes + size + kChecksumBytes;
  if (DecodeFixed32(trailer) != ChecksumOf(header, *payload)) {
    return StreamDamage(absl::StrFormat("the checksum of a message of type %u is wrong", type));
  }
  if (type == static_cast<uint8_t>(SyncMessage::kError)) return OfTheOtherSide(*payload);
  return static_cast<SyncMessage>(type);
}

absl::Status SyncStream::Expect(SyncMessage type, std::string* payload) {
  ASSIGN_OR_RETURN(const SyncMessage got, Receive(payload));
  if (got == type) return absl::OkStatus();
  return StreamDamage(
      absl::StrFormat("a message of type %u where %u was due", static_cast<uint8_t>(got), static_cast<uint8_t>(type)));
}

void SyncStream::SendError(const absl::Status& status) {
  std::string payload(1, static_cast<char>(status.code()));
  PutLengthPrefixed(&payload, std::string(status.message()));
  Send(SyncMessage::kError, payload).IgnoreError();
}

}  // namespace sepal
