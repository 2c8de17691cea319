// leveldb::Status. A failure is one array of bytes, which inline code of the header copies and deletes:
//
// | offset | size | meaning               |
// |--------|------|-----------------------|
// | 0      | 4    | length of the message |
// | 4      | 1    | code                  |
// | 5      |      | message               |
#include <cstring>

#include "compat/leveldb/convert.h"

namespace leveldb {

namespace {
constexpr size_t kHeaderBytes = 5;
}  // namespace

Status::Status(Code code, const Slice& msg, const Slice& msg2) {
  std::string text(msg.data(), msg.size());
  if (!msg2.empty()) text.append(": ").append(msg2.data(), msg2.size());
  const auto length = static_cast<uint32_t>(text.size());
  char* const state = new char[kHeaderBytes + length];
  std::memcpy(state, &length, sizeof(length));
  state[sizeof(length)] = static_cast<char>(code);
  std::memcpy(state + kHeaderBytes, text.data(), length);
  state_ = state;
}

const char* Status::CopyState(const char* state) {
  uint32_t length;
  std::memcpy(&length, state, sizeof(length));
  char* const copy = new char[kHeaderBytes + length];
  std::memcpy(copy, state, kHeaderBytes + length);
  return copy;
}

std::string Status::ToString() const {
  if (ok()) return "OK";
  std::string text;
  switch (code()) {
    case kOk:
      break;
    case kNotFound:
      text = "NotFound: ";
      break;
    case kCorruption:
      text = "Corruption: ";
      break;
    case kNotSupported:
      text = "Not implemented: ";
      break;
    case kInvalidArgument:
      text = "Invalid argument: ";
      break;
    case kIOError:
      text = "IO error: ";
      break;
  }
  uint32_t length;
  std::memcpy(&length, state_, sizeof(length));
  return text.append(state_ + kHeaderBytes, length);
}

}  // namespace leveldb

namespace sepal::compat {

leveldb::Status PosixError(std::string_view context, int error) {
  const char* const text = std::strerror(error);
  return error == ENOENT ? leveldb::Status::NotFound(ToSlice(context), text)
                         : leveldb::Status::IOError(ToSlice(context), text);
}

leveldb::Status FailureOf(const absl::Status& status) {
  const leveldb::Slice message = ToSlice(ToStd(status.message()));
  switch (status.code()) {
    case absl::StatusCode::kNotFound:
      return leveldb::Status::NotFound(message);
    case absl::StatusCode::kDataLoss:
      return leveldb::Status::Corruption(message);
    case absl::StatusCode::kUnimplemented:
      return leveldb::Status::NotSupported(message);
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kAlreadyExists:
      return leveldb::Status::InvalidArgument(message);
    default:
      return leveldb::Status::IOError(message);
  }
}

}  // namespace sepal::compat
