// The C interface of batches that can be read.
#include "sepal/c_indexed_batch.h"

#include <string>
#include <vector>

#include "db/c/c_types.h"
#include "sepal/indexed_batch.h"

struct sepal_indexedbatch_t {
  sepal::IndexedBatch rep;
};

namespace {

using sepal::BytesOf;
using sepal::MultiGetFrom;
using sepal::OnFamily;
using sepal::OptionalBytes;
using sepal::PutWith;
using sepal::SaveError;
using sepal::TakeValue;

}  // namespace

extern "C" {

sepal_indexedbatch_t* sepal_indexedbatch_create(sepal_t* db) {
  return new sepal_indexedbatch_t{sepal::IndexedBatch(*db->rep)};
}

void sepal_indexedbatch_destroy(sepal_indexedbatch_t* batch) { delete batch; }

void sepal_indexedbatch_clear(sepal_indexedbatch_t* batch) { batch->rep.Clear(); }

void sepal_write_indexedbatch(sepal_t* db, const sepal_writeoptions_t* options, const sepal_indexedbatch_t* batch,
                              char** errptr) {
  SaveError(errptr, db->rep->Write(batch->rep.updates(), options->rep));
}

uint32_t sepal_indexedbatch_count(const sepal_indexedbatch_t* batch) { return batch->rep.Count(); }

size_t sepal_indexedbatch_byte_size(const sepal_indexedbatch_t* batch) { return batch->rep.ByteSize(); }

size_t sepal_indexedbatch_memory_bytes(const sepal_indexedbatch_t* batch) { return batch->rep.MemoryBytes(); }

void sepal_indexedbatch_put(sepal_indexedbatch_t* batch, sepal_column_family_t* family, const char* key, size_t keylen,
                            const char* val, size_t vallen, char** errptr) {
  PutWith(&batch->rep, family, BytesOf(key, keylen), BytesOf(val, vallen), {}, errptr);
}

void sepal_indexedbatch_put_expiring(sepal_indexedbatch_t* batch, sepal_column_family_t* family, const char* key,
                                     size_t keylen, const char* val, size_t vallen, uint64_t expires_at,
                                     char** errptr) {
  PutWith(&batch->rep, family, BytesOf(key, keylen), BytesOf(val, vallen),
          {.expires_at = sepal::TimeOfMillis(expires_at)}, errptr);
}

void sepal_indexedbatch_put_with_ttl(sepal_indexedbatch_t* batch, sepal_column_family_t* family, const char* key,
                                     size_t keylen, const char* val, size_t vallen, int64_t ttl_millis, char** errptr) {
  PutWith(&batch->rep, family, BytesOf(key, keylen), BytesOf(val, vallen),
          {.ttl = std::chrono::milliseconds(ttl_millis)}, errptr);
}

void sepal_indexedbatch_delete(sepal_indexedbatch_t* batch, sepal_column_family_t* family, const char* key,
                               size_t keylen, char** errptr) {
  SaveError(errptr, OnFamily(family, [&](auto&... on) { return batch->rep.Delete(on..., BytesOf(key, keylen)); }));
}

void sepal_indexedbatch_singledelete(sepal_indexedbatch_t* batch, sepal_column_family_t* family, const char* key,
                                     size_t keylen, char** errptr) {
  SaveError(errptr,
            OnFamily(family, [&](auto&... on) { return batch->rep.SingleDelete(on..., BytesOf(key, keylen)); }));
}

void sepal_indexedbatch_merge(sepal_indexedbatch_t* batch, sepal_column_family_t* family, const char* key,
                              size_t keylen, const char* operand, size_t operandlen, char** errptr) {
  SaveError(errptr, OnFamily(family, [&](auto&... on) {
              return batch->rep.Merge(on..., BytesOf(key, keylen), BytesOf(operand, operandlen));
            }));
}

void sepal_indexedbatch_delete_range(sepal_indexedbatch_t* batch, sepal_column_family_t* family, const char* begin,
                                     size_t beginlen, const char* end, size_t endlen, char** errptr) {
  SaveError(errptr, OnFamily(family, [&](auto&... on) {
              return batch->rep.DeleteRange(on..., BytesOf(begin, beginlen), OptionalBytes(end, endlen));
            }));
}

void sepal_indexedbatch_set_savepoint(sepal_indexedbatch_t* batch) { batch->rep.SetSavepoint(); }

void sepal_indexedbatch_rollback_to_savepoint(sepal_indexedbatch_t* batch, char** errptr) {
  SaveError(errptr, batch->rep.RollbackToSavepoint());
}

char* sepal_indexedbatch_get(const sepal_indexedbatch_t* batch, const sepal_readoptions_t* options,
                             sepal_column_family_t* family, const char* key, size_t keylen, size_t* vallen,
                             char** errptr) {
  const auto get = [&](auto&... on) { return batch->rep.Get(on..., BytesOf(key, keylen), options->rep); };
  return TakeValue(OnFamily(family, get), vallen, errptr);
}

void sepal_indexedbatch_multi_get(const sepal_indexedbatch_t* batch, const sepal_readoptions_t* options,
                                  sepal_column_family_t* family, size_t num_keys, const char* const* keys,
                                  const size_t* keylens, char** values, size_t* vallens, char** errs) {
  MultiGetFrom(&batch->rep, options, family, num_keys, keys, keylens, values, vallens, errs);
}

sepal_iterator_t* sepal_indexedbatch_create_iterator(const sepal_indexedbatch_t* batch,
                                                     const sepal_readoptions_t* options,
                                                     sepal_column_family_t* family) {
  return new sepal_iterator_t{
      OnFamily(family, [&](auto&... on) { return batch->rep.NewIterator(on..., options->rep); })};
}

}  // extern "C"
