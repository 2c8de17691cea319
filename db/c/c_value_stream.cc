// The C interface of values that are written and read in parts.
#include "sepal/c_value_stream.h"

#include "db/c/c_types.h"
#include "sepal/value_stream.h"

namespace {

class CSource final : public sepal::ValueSource {
 public:
  CSource(size_t (*read)(void*, char*, size_t), void* state) : read_(read), state_(state) {}
  absl::StatusOr<size_t> Read(std::span<char> buffer) override {
    const size_t read = read_(state_, buffer.data(), buffer.size());
    if (read == SIZE_MAX) return absl::CancelledError("the source of a value ended the put; nothing was written");
    return read;
  }

 private:
  size_t (*const read_)(void*, char*, size_t);
  void* const state_;
};

}  // namespace

extern "C" {

void sepal_put_stream(sepal_t* db, const sepal_writeoptions_t* options, sepal_column_family_t* family, const char* key,
                      size_t keylen, uint64_t value_bytes, size_t (*read)(void* state, char* buffer, size_t size),
                      void* state, char** errptr) {
  CSource source(read, state);
  sepal::SaveError(errptr, db->rep->PutStream(sepal::FamilyOf(db, family), sepal::BytesOf(key, keylen), value_bytes,
                                              source, options->rep));
}

size_t sepal_read_value(sepal_t* db, const sepal_readoptions_t* options, sepal_column_family_t* family, const char* key,
                        size_t keylen, uint64_t offset, char* buffer, size_t size, uint64_t* value_bytes,
                        char** errptr) {
  const absl::StatusOr<sepal::ValuePart> part = db->rep->ReadValue(
      sepal::FamilyOf(db, family), sepal::BytesOf(key, keylen), offset, {buffer, size}, options->rep);
  if (absl::IsNotFound(part.status()) || sepal::SaveError(errptr, part.status())) return SIZE_MAX;
  if (value_bytes != nullptr) *value_bytes = part->value_bytes;
  return part->copied;
}

}  // extern "C"
