#include "rados/operations.h"

#include <cerrno>
#include <cstring>

#include "absl/strings/str_format.h"

namespace sepal::rados {
namespace {

// The arrays that librados takes.
struct Texts {
  void Add(const std::string& text) {
    data.push_back(text.data());
    sizes.push_back(text.size());
  }
  std::vector<const char*> data;
  std::vector<size_t> sizes;
};

// Adds what the iterator shows, and ends it. Returns the last key.
std::string Take(rados_omap_iter_t it, Omap* found) {
  std::string last;
  char *key = nullptr, *value = nullptr;
  size_t key_size = 0, value_size = 0;
  while (rados_omap_get_next2(it, &key, &value, &key_size, &value_size) == 0 && key != nullptr) {
    last.assign(key, key_size);
    (*found)[last] = std::string(value, value_size);
  }
  rados_omap_get_end(it);
  return last;
}

}  // namespace

absl::Status StatusOf(int code, std::string_view what) {
  if (code >= 0) return absl::OkStatus();
  const std::string text = absl::StrFormat("%s: %s", what, std::strerror(-code));
  switch (-code) {
    case ENOENT:
      return absl::NotFoundError(text);
    case EEXIST:
      return absl::AlreadyExistsError(text);
    case EPERM:
    case EACCES:
      return absl::PermissionDeniedError(text);
    case ENOSPC:
    case EDQUOT:
      return absl::ResourceExhaustedError(absl::StrFormat("%s: the pool is full, or over its quota", what));
    case ESHUTDOWN:
      return absl::AbortedError(
          absl::StrFormat("%s: this client was fenced: another client has taken the database over", what));
    case ETIMEDOUT:
      return absl::InternalError(absl::StrFormat(
          "%s: the cluster did not answer in time; connect anew, and open the database with take_over", what));
    default:
      return absl::InternalError(text);
  }
}

void WriteOp::Set(const std::vector<std::pair<std::string, std::string>>& keys) {
  if (keys.empty()) return;
  Texts names, values;
  for (const auto& [key, value] : keys) {
    names.Add(key);
    values.Add(value);
  }
  rados_write_op_omap_set2(op_, names.data.data(), values.data.data(), names.sizes.data(), values.sizes.data(),
                           keys.size());
}

void WriteOp::Unset(const std::vector<std::string>& keys) {
  if (keys.empty()) return;
  Texts names;
  for (const std::string& key : keys) names.Add(key);
  rados_write_op_omap_rm_keys2(op_, names.data.data(), names.sizes.data(), keys.size());
}

int WriteOp::Run(rados_ioctx_t io, const std::string& object) {
  Pending pending;
  const int begun = rados_aio_write_op_operate(op_, io, pending.get(), object.c_str(), nullptr, 0);
  if (begun < 0) pending.Failed(begun);
  return pending.Await();
}

absl::StatusOr<uint64_t> AlignmentOf(rados_ioctx_t io) {
  int requires_alignment = 0;
  uint64_t alignment = 0;
  int code = rados_ioctx_pool_requires_alignment2(io, &requires_alignment);
  if (code >= 0 && requires_alignment != 0) code = rados_ioctx_pool_required_alignment2(io, &alignment);
  if (code < 0) return StatusOf(code, "RADOS: how a pool takes writes");
  return alignment;
}

absl::StatusOr<Omap> ReadOmap(rados_ioctx_t io, const std::string& object, const std::string& prefix) {
  constexpr uint64_t kKeysPerRead = 5000;
  Omap all;
  std::string after;
  while (true) {
    const rados_read_op_t op = rados_create_read_op();
    rados_omap_iter_t it = nullptr;
    unsigned char more = 0;
    int result = 0;
    rados_read_op_omap_get_vals2(op, after.c_str(), prefix.c_str(), kKeysPerRead, &it, &more, &result);
    int code = rados_read_op_operate(op, io, object.c_str(), 0);
    if (code >= 0) code = result;
    if (it != nullptr) after = Take(it, &all);
    rados_release_read_op(op);
    if (code < 0) return StatusOf(code, object);
    if (more == 0) return all;
  }
}

absl::StatusOr<Omap> ReadKeys(rados_ioctx_t io, const std::string& object, const std::vector<std::string>& keys) {
  Texts names;
  for (const std::string& key : keys) names.Add(key);
  const rados_read_op_t op = rados_create_read_op();
  rados_omap_iter_t it = nullptr;
  int result = 0;
  rados_read_op_omap_get_vals_by_keys2(op, names.data.data(), keys.size(), names.sizes.data(), &it, &result);
  int code = rados_read_op_operate(op, io, object.c_str(), 0);
  if (code >= 0) code = result;
  Omap found;
  if (it != nullptr) Take(it, &found);
  rados_release_read_op(op);
  if (code < 0) return StatusOf(code, object);
  return found;
}

}  // namespace sepal::rados
