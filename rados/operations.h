// librados' calls as objects that are let go, and its errors as statuses.
#pragma once

#include <rados/librados.h>

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sepal::rados {

// `code`: a negative errno of librados, or what is not negative for ok.
absl::Status StatusOf(int code, std::string_view what);

// A changing operation on one object, applied whole or not at all. Nobody must use it twice.
class WriteOp {
 public:
  WriteOp() : op_(rados_create_write_op()) {}
  ~WriteOp() { rados_release_write_op(op_); }
  WriteOp(const WriteOp&) = delete;
  WriteOp& operator=(const WriteOp&) = delete;

  void MustExist() { rados_write_op_assert_exists(op_); }
  // `exclusive`: fails if the object exists.
  void Create(bool exclusive) {
    rados_write_op_create(op_, exclusive ? LIBRADOS_CREATE_EXCLUSIVE : LIBRADOS_CREATE_IDEMPOTENT, nullptr);
  }
  void Write(std::string_view bytes, uint64_t offset) { rados_write_op_write(op_, bytes.data(), bytes.size(), offset); }
  void WriteFull(std::string_view bytes) { rados_write_op_write_full(op_, bytes.data(), bytes.size()); }
  void Truncate(uint64_t size) { rados_write_op_truncate(op_, size); }
  void Remove() { rados_write_op_remove(op_); }
  // The key must have this value; an empty one: it must be missing.
  void Compare(const std::string& key, const std::string& value) {
    rados_write_op_omap_cmp2(op_, key.data(), LIBRADOS_CMPXATTR_OP_EQ, value.data(), key.size(), value.size(), nullptr);
  }
  void Set(const std::vector<std::pair<std::string, std::string>>& keys);
  void Unset(const std::vector<std::string>& keys);

  // Waits. Returns a negative errno, ECANCELED where a comparison failed.
  int Run(rados_ioctx_t io, const std::string& object);
  rados_write_op_t get() const { return op_; }

 private:
  const rados_write_op_t op_;
};

// What a pool without partial overwrites appends at multiples of, erasure-coded; 0: it takes any write.
absl::StatusOr<uint64_t> AlignmentOf(rados_ioctx_t io);

using Omap = std::map<std::string, std::string>;
// All keys of an object that begin with `prefix`, in as many reads as it takes.
absl::StatusOr<Omap> ReadOmap(rados_ioctx_t io, const std::string& object, const std::string& prefix);
// Those of `keys` that there are.
absl::StatusOr<Omap> ReadKeys(rados_ioctx_t io, const std::string& object, const std::vector<std::string>& keys);

// One asynchronous call, which is waited for at the latest as the object goes.
class Pending {
 public:
  explicit Pending(void* argument = nullptr, rados_callback_t done = nullptr) {
    rados_aio_create_completion2(argument, done, &completion_);
  }
  ~Pending() {
    if (completion_ != nullptr) Await();
  }
  Pending(Pending&& other) noexcept : completion_(std::exchange(other.completion_, nullptr)), code_(other.code_) {}
  Pending& operator=(Pending&&) = delete;

  rados_completion_t get() const { return completion_; }
  // It never began, with this code.
  void Failed(int code) {
    rados_aio_release(std::exchange(completion_, nullptr));
    code_ = code;
  }
  // Waits; returns what librados returned.
  int Await() {
    if (completion_ == nullptr) return code_;
    rados_aio_wait_for_complete(completion_);
    code_ = rados_aio_get_return_value(completion_);
    rados_aio_release(std::exchange(completion_, nullptr));
    return code_;
  }

 private:
  rados_completion_t completion_ = nullptr;
  int code_ = 0;
};

}  // namespace sepal::rados
