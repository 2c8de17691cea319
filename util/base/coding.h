// Encodes integers as bytes: fixed-width little-endian, and variable-length (7 bits a byte, lowest first, the high bit
// set on all but the last). `Decoder` reads them from bytes that may be hostile: it never reads past the end, and it
// remembers the first failure.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace sepal {

static_assert(std::endian::native == std::endian::little, "Sepal stores integers as the machine does");

inline void EncodeFixed16(char* p, uint16_t v) { std::memcpy(p, &v, sizeof v); }
inline void EncodeFixed32(char* p, uint32_t v) { std::memcpy(p, &v, sizeof v); }
inline void EncodeFixed64(char* p, uint64_t v) { std::memcpy(p, &v, sizeof v); }

inline uint16_t DecodeFixed16(const char* p) {
  uint16_t v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
inline uint32_t DecodeFixed32(const char* p) {
  uint32_t v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
inline uint64_t DecodeFixed64(const char* p) {
  uint64_t v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

// The first eight bytes of `s` as a number that sorts as the bytes do; missing bytes count as zero.
inline uint64_t BigEndianPrefix(const char* data, size_t size) {
  if (size >= 8) [[likely]]
    return __builtin_bswap64(DecodeFixed64(data));
  uint64_t v = 0;
  if (size >= 4) {  // two loads that may overlap
    v = DecodeFixed32(data) | static_cast<uint64_t>(DecodeFixed32(data + size - 4)) << (8 * (size - 4));
  } else if (size > 0) {  // three loads that may coincide
    const auto at = [data](size_t i) { return uint64_t{static_cast<unsigned char>(data[i])} << (8 * i); };
    v = at(0) | at(size / 2) | at(size - 1);
  }
  return __builtin_bswap64(v);
}
inline uint64_t BigEndianPrefix(std::string_view s) { return BigEndianPrefix(s.data(), s.size()); }

inline constexpr int kMaxVarint32Bytes = 5;
inline constexpr int kMaxVarint64Bytes = 10;

// Writes `v` at `p`, which must have room for it; returns the byte after it.
inline char* EncodeVarint64(char* p, uint64_t v) {
  while (v >= 0x80) {
    *p++ = static_cast<char>(v | 0x80);
    v >>= 7;
  }
  *p++ = static_cast<char>(v);
  return p;
}
inline char* EncodeVarint32(char* p, uint32_t v) { return EncodeVarint64(p, v); }

inline int VarintLength(uint64_t v) { return v == 0 ? 1 : (std::bit_width(v) + 6) / 7; }

inline void PutFixed16(std::string* out, uint16_t v) { out->append(reinterpret_cast<const char*>(&v), sizeof v); }
inline void PutFixed32(std::string* out, uint32_t v) { out->append(reinterpret_cast<const char*>(&v), sizeof v); }
inline void PutFixed64(std::string* out, uint64_t v) { out->append(reinterpret_cast<const char*>(&v), sizeof v); }
inline void PutVarint(std::string* out, uint64_t v) {
  char buffer[kMaxVarint64Bytes];
  const auto size = static_cast<size_t>(EncodeVarint64(buffer, v) - buffer);
  if (size > sizeof(buffer)) __builtin_unreachable();  // GCC 12 warns of it otherwise
  out->append(buffer, size);
}
inline void PutLengthPrefixed(std::string* out, std::string_view bytes) {
  PutVarint(out, bytes.size());
  out->append(bytes);
}

// Reads a varint of at most `max_bits` bits from [p, end). Returns the byte after it, or null if there is none.
const char* DecodeVarint(const char* p, const char* end, int max_bits, uint64_t* v);

class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : p_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  bool ok() const { return ok_; }
  bool empty() const { return p_ == end_; }
  // Whether everything was read without a failure.
  bool Done() const { return ok_ && p_ == end_; }
  size_t remaining() const { return static_cast<size_t>(end_ - p_); }
  std::string_view rest() const { return {p_, remaining()}; }

  // After a failure these return zero or nothing.
  uint8_t Byte() { return Take(1) ? static_cast<uint8_t>(p_[-1]) : 0; }
  uint16_t Fixed16() { return Take(2) ? DecodeFixed16(p_ - 2) : 0; }
  uint32_t Fixed32() { return Take(4) ? DecodeFixed32(p_ - 4) : 0; }
  uint64_t Fixed64() { return Take(8) ? DecodeFixed64(p_ - 8) : 0; }
  uint64_t Varint(int max_bits = 64) {
    if (ok_ && p_ != end_ && (*p_ & 0x80) == 0 && max_bits >= 7) [[likely]]
      return static_cast<unsigned char>(*p_++);
    return LongVarint(max_bits);
  }
  uint32_t Varint32() { return static_cast<uint32_t>(Varint(32)); }
  std::string_view Bytes(uint64_t n) { return Take(n) ? std::string_view(p_ - n, n) : std::string_view(); }
  std::string_view LengthPrefixed() { return Bytes(Varint()); }
  void Fail() { ok_ = false; }

 private:
  bool Take(uint64_t n) {
    if (!ok_ || n > remaining()) return ok_ = false;
    p_ += n;
    return true;
  }

  uint64_t LongVarint(int max_bits);

  const char* p_;
  const char* end_;
  bool ok_ = true;
};

}  // namespace sepal
