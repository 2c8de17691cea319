#include "util/base/coding.h"

namespace sepal {

const char* DecodeVarint(const char* p, const char* end, int max_bits, uint64_t* v) {
  uint64_t result = 0;
  for (int shift = 0; shift < max_bits && p != end; shift += 7) {
    const uint64_t byte = static_cast<unsigned char>(*p++);
    const uint64_t bits = byte & 0x7f;
    if (max_bits - shift < 7 && (bits >> (max_bits - shift)) != 0) return nullptr;
    result |= bits << shift;
    if ((byte & 0x80) == 0) {
      *v = result;
      return p;
    }
  }
  return nullptr;
}

uint64_t Decoder::LongVarint(int max_bits) {
  uint64_t v = 0;
  const char* next = ok_ ? DecodeVarint(p_, end_, max_bits, &v) : nullptr;
  if (next == nullptr) {
    ok_ = false;
    return 0;
  }
  p_ = next;
  return v;
}

}  // namespace sepal
