// The C interface: write batches.
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "db/c/c_types.h"
#include "sepal/c.h"

namespace {

using sepal::BytesOf;
using sepal::OptionalBytes;
using sepal::SaveError;
using sepal::TimeOfMillis;

struct BatchCalls final : sepal::WriteBatch::Handler {
  absl::Status Put(uint32_t family, std::string_view key, std::string_view value) override {
    return put(family, key, value), absl::OkStatus();
  }
  absl::Status PutExpiring(uint32_t family, std::string_view key, std::string_view value,
                           std::chrono::system_clock::time_point) override {
    return Put(family, key, value);
  }
  absl::Status Delete(uint32_t family, std::string_view key) override { return deleted(family, key), absl::OkStatus(); }
  absl::Status SingleDelete(uint32_t family, std::string_view key) override {
    return single_deleted(family, key), absl::OkStatus();
  }
  absl::Status Merge(uint32_t family, std::string_view key, std::string_view operand) override {
    if (merged) merged(family, key, operand);
    return absl::OkStatus();
  }
  absl::Status DeleteRange(uint32_t family, std::string_view begin, std::optional<std::string_view> end) override {
    if (range_deleted) range_deleted(family, begin, end);
    return absl::OkStatus();
  }
  std::function<void(uint32_t, std::string_view, std::string_view)> put, merged;
  std::function<void(uint32_t, std::string_view, std::optional<std::string_view>)> range_deleted;
  std::function<void(uint32_t, std::string_view)> deleted, single_deleted;
};

}  // namespace

sepal_writebatch_t* sepal_writebatch_create(void) { return new sepal_writebatch_t; }

sepal_writebatch_t* sepal_writebatch_create_from(const char* data, size_t size, char** errptr) {
  absl::StatusOr<sepal::WriteBatch> batch = sepal::WriteBatch::FromBytes(BytesOf(data, size));
  return SaveError(errptr, batch.status()) ? nullptr : new sepal_writebatch_t{std::move(batch).value()};
}

void sepal_writebatch_destroy(sepal_writebatch_t* batch) { delete batch; }
void sepal_writebatch_clear(sepal_writebatch_t* batch) { batch->rep.Clear(); }
uint32_t sepal_writebatch_count(const sepal_writebatch_t* batch) { return batch->rep.Count(); }

void sepal_writebatch_put(sepal_writebatch_t* batch, const char* key, size_t klen, const char* val, size_t vlen) {
  batch->rep.Put(BytesOf(key, klen), BytesOf(val, vlen));
}
void sepal_writebatch_put_expiring(sepal_writebatch_t* batch, sepal_column_family_t* family, const char* key,
                                   size_t klen, const char* val, size_t vlen, uint64_t expires_at) {
  const auto time = TimeOfMillis(expires_at);
  if (family == nullptr) return batch->rep.Put(BytesOf(key, klen), BytesOf(val, vlen), time);
  batch->rep.Put(*family->rep, BytesOf(key, klen), BytesOf(val, vlen), time);
}
void sepal_writebatch_put_cf(sepal_writebatch_t* batch, sepal_column_family_t* family, const char* key, size_t klen,
                             const char* val, size_t vlen) {
  if (family == nullptr) return sepal_writebatch_put(batch, key, klen, val, vlen);
  batch->rep.Put(*family->rep, BytesOf(key, klen), BytesOf(val, vlen));
}
void sepal_writebatch_delete(sepal_writebatch_t* batch, const char* key, size_t klen) {
  batch->rep.Delete(BytesOf(key, klen));
}
void sepal_writebatch_delete_cf(sepal_writebatch_t* batch, sepal_column_family_t* family, const char* key,
                                size_t klen) {
  if (family == nullptr) return sepal_writebatch_delete(batch, key, klen);
  batch->rep.Delete(*family->rep, BytesOf(key, klen));
}
void sepal_writebatch_singledelete(sepal_writebatch_t* batch, const char* key, size_t klen) {
  batch->rep.SingleDelete(BytesOf(key, klen));
}
void sepal_writebatch_singledelete_cf(sepal_writebatch_t* batch, sepal_column_family_t* family, const char* key,
                                      size_t klen) {
  if (family == nullptr) return sepal_writebatch_singledelete(batch, key, klen);
  batch->rep.SingleDelete(*family->rep, BytesOf(key, klen));
}
void sepal_writebatch_merge(sepal_writebatch_t* batch, const char* key, size_t klen, const char* operand, size_t olen) {
  batch->rep.Merge(BytesOf(key, klen), BytesOf(operand, olen));
}
void sepal_writebatch_merge_cf(sepal_writebatch_t* batch, sepal_column_family_t* family, const char* key, size_t klen,
                               const char* operand, size_t olen) {
  if (family == nullptr) return sepal_writebatch_merge(batch, key, klen, operand, olen);
  batch->rep.Merge(*family->rep, BytesOf(key, klen), BytesOf(operand, olen));
}

void sepal_writebatch_delete_range(sepal_writebatch_t* batch, const char* begin, size_t blen, const char* end,
                                   size_t elen) {
  batch->rep.DeleteRange(BytesOf(begin, blen), OptionalBytes(end, elen));
}
void sepal_writebatch_delete_range_cf(sepal_writebatch_t* batch, sepal_column_family_t* family, const char* begin,
                                      size_t blen, const char* end, size_t elen) {
  if (family == nullptr) return sepal_writebatch_delete_range(batch, begin, blen, end, elen);
  batch->rep.DeleteRange(*family->rep, BytesOf(begin, blen), OptionalBytes(end, elen));
}

void sepal_writebatch_iterate(const sepal_writebatch_t* batch, void* state,
                              void (*put)(void*, const char* k, size_t klen, const char* v, size_t vlen),
                              void (*deleted)(void*, const char* k, size_t klen)) {
  BatchCalls calls;
  calls.put = [=](uint32_t, std::string_view key, std::string_view value) {
    put(state, key.data(), key.size(), value.data(), value.size());
  };
  calls.deleted = [=](uint32_t, std::string_view key) { deleted(state, key.data(), key.size()); };
  calls.single_deleted = calls.deleted;
  // A batch that these functions made has no error.
  batch->rep.Iterate(calls).IgnoreError();
}

void sepal_writebatch_iterate_cf(
    const sepal_writebatch_t* batch, void* state,
    void (*put)(void*, uint32_t family, const char* k, size_t klen, const char* v, size_t vlen),
    void (*deleted)(void*, uint32_t family, const char* k, size_t klen),
    void (*singledeleted)(void*, uint32_t family, const char* k, size_t klen),
    void (*merged)(void*, uint32_t family, const char* k, size_t klen, const char* operand, size_t olen),
    void (*range_deleted)(void*, uint32_t family, const char* begin, size_t blen, const char* end, size_t elen)) {
  BatchCalls calls;
  calls.put = [=](uint32_t family, std::string_view key, std::string_view value) {
    put(state, family, key.data(), key.size(), value.data(), value.size());
  };
  calls.deleted = [=](uint32_t family, std::string_view key) { deleted(state, family, key.data(), key.size()); };
  calls.single_deleted = [=](uint32_t family, std::string_view key) {
    singledeleted(state, family, key.data(), key.size());
  };
  calls.merged = [=](uint32_t family, std::string_view key, std::string_view operand) {
    merged(state, family, key.data(), key.size(), operand.data(), operand.size());
  };
  calls.range_deleted = [=](uint32_t family, std::string_view begin, std::optional<std::string_view> end) {
    const std::string_view bytes = end.value_or("");
    range_deleted(state, family, begin.data(), begin.size(), end.has_value() ? bytes.data() : nullptr, bytes.size());
  };
  batch->rep.Iterate(calls).IgnoreError();
}

void sepal_writebatch_append(sepal_writebatch_t* destination, const sepal_writebatch_t* source) {
  destination->rep.Append(source->rep);
}

const char* sepal_writebatch_data(const sepal_writebatch_t* batch, size_t* size) {
  *size = batch->rep.bytes().size();
  return batch->rep.bytes().data();
}
