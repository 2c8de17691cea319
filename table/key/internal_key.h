// Keys as the engine orders them: a user key, and a trailer that says which update of that key this is.
//
// The trailer is (sequence number << 8) | kind. Entries sort by user key ascending, then by trailer descending, so that
// the newest update of a key comes first.
//
// As bytes (in the manifest and in separators): the user key, then the trailer as 8 bytes little-endian.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sepal/comparator.h"
#include "table/key/compare_bytes.h"
#include "util/base/coding.h"
#include "util/base/numbers.h"

namespace sepal {

// The kind of an update, as the byte on disk. A larger byte is no kind that this version of the library knows, and the
// file that has it is refused. Only db/decide/visibility/visibility.h decides what a kind means to a reader.
enum class ValueKind : uint8_t {
  kDelete = 0,
  kPut = 1,
  kSingleDelete = 2,
  kMerge = 3,
  // In batches, and in tables that have nothing else: deletes all keys from this one up to the end in the value.
  kRangeDelete = 4,
  // A put whose value is in a value file (db/format/value_reference.h).
  kReference = 5,
  // A put that expires (db/format/expiring_value.h).
  kExpiringPut = 6,
  // In memtables only, never on disk: an operand together with older ones (db/decide/visibility/operands.h).
  kFoldedMerge = 7,
  // A put that expires and whose value is in a value file: the expiry, then the reference.
  kExpiringReference = 8,
};
inline constexpr bool IsReference(ValueKind kind) {
  return kind == ValueKind::kReference || kind == ValueKind::kExpiringReference;
}
inline constexpr bool Expires(ValueKind kind) {
  return kind == ValueKind::kExpiringPut || kind == ValueKind::kExpiringReference;
}
// The kinds on disk are those up to kMaxValueKind, and those that refer or expire.
inline constexpr uint8_t kMaxValueKind = 4;
inline constexpr bool IsKindOnDisk(uint8_t kind) {
  return kind <= kMaxValueKind || IsReference(static_cast<ValueKind>(kind)) || Expires(static_cast<ValueKind>(kind));
}
// The value of an update that expires begins with its expiry, of so many bytes; one that is shorter is damaged. So is a
// shorter reference.
inline constexpr size_t kExpiryBytes = 6;
inline constexpr size_t kLeastReferenceBytes = 8;
inline constexpr size_t LeastValueBytes(ValueKind kind) {
  return (Expires(kind) ? kExpiryBytes : 0) + (IsReference(kind) ? kLeastReferenceBytes : 0);
}

// For statistics only.
inline bool IsTombstone(ValueKind kind) { return kind == ValueKind::kDelete || kind == ValueKind::kSingleDelete; }

// Returns whether what a reader of this update sees depends on older updates of the key.
inline constexpr bool IsOperand(ValueKind kind) { return kind == ValueKind::kMerge || kind == ValueKind::kFoldedMerge; }
// Returns whether it is an operand that stands for older ones too.
inline constexpr bool IsFolded(ValueKind kind) { return kind == ValueKind::kFoldedMerge; }
inline constexpr bool IsSingleDelete(ValueKind kind) { return kind == ValueKind::kSingleDelete; }

using Trailer = uint64_t;

inline constexpr Trailer PackTrailer(SequenceNumber sequence, ValueKind kind) {
  return (sequence.value() << 8) | static_cast<uint8_t>(kind);
}
inline constexpr SequenceNumber TrailerSequence(Trailer trailer) { return SequenceNumber(trailer >> 8); }
// Only for trailers whose kind byte is known to be valid.
inline constexpr ValueKind TrailerKind(Trailer trailer) { return static_cast<ValueKind>(trailer & 0xff); }
inline constexpr bool IsValidTrailer(Trailer trailer) { return IsKindOnDisk(trailer & 0xff); }

// Sorts before every update of its user key that is visible at `sequence`, and after all newer ones.
inline constexpr Trailer SeekTrailer(SequenceNumber sequence) { return (sequence.value() << 8) | 0xff; }
// Sort before, and after, all updates of a user key.
inline constexpr Trailer kFirstTrailer = ~Trailer{0};
inline constexpr Trailer kLastTrailer = 0;

inline constexpr size_t kTrailerBytes = 8;

// The same view, moved word by word. Compilers move it as one piece, which stalls on the two stores that have just
// written it.
inline std::string_view ByWords(std::string_view view) {
  const char* data = view.data();
  size_t size = view.size();
  asm("" : "+r"(data), "+r"(size));
  return {data, size};
}

// Borrows its user key. Passed by reference to functions that are called for every entry: a copy by value goes through
// memory as one piece.
struct InternalKeyView {
  std::string_view user_key;
  Trailer trailer = kFirstTrailer;

  SequenceNumber sequence() const { return TrailerSequence(trailer); }
  ValueKind kind() const { return TrailerKind(trailer); }
  friend bool operator==(const InternalKeyView&, const InternalKeyView&) = default;
};

// Owns its user key.
struct InternalKey {
  std::string user_key;
  Trailer trailer = kFirstTrailer;

  InternalKey() = default;
  InternalKey(std::string key, Trailer t) : user_key(std::move(key)), trailer(t) {}
  explicit InternalKey(InternalKeyView view) : user_key(view.user_key), trailer(view.trailer) {}
  InternalKeyView view() const { return {user_key, trailer}; }
  friend bool operator==(const InternalKey&, const InternalKey&) = default;
};

inline void AppendInternalKey(std::string* out, InternalKeyView key) {
  out->append(key.user_key);
  PutFixed64(out, key.trailer);
}
// Returns nullopt for bytes that are too short or have an unknown kind.
inline std::optional<InternalKeyView> ParseInternalKey(std::string_view bytes) {
  if (bytes.size() < kTrailerBytes) return std::nullopt;
  const size_t n = bytes.size() - kTrailerBytes;
  const Trailer trailer = DecodeFixed64(bytes.data() + n);
  if (!IsValidTrailer(trailer)) return std::nullopt;
  return InternalKeyView{bytes.substr(0, n), trailer};
}

// "key"@7:put, for people.
std::string ToString(InternalKeyView key);
std::string_view Name(ValueKind kind);

// The order of user keys. It knows whether it is bytewise, and then compares without a virtual call and by prefixes.
// Small; passed by value.
class KeyOrder {
 public:
  KeyOrder() : KeyOrder(BytewiseComparator()) {}
  explicit KeyOrder(const Comparator* comparator)
      : comparator_(comparator), bytewise_(comparator == BytewiseComparator()) {}

  const Comparator* comparator() const { return comparator_; }
  bool bytewise() const { return bytewise_; }
  // Whether hash structures (filters, tags, the memtable's index) may be used with this order's keys.
  bool hashable() const { return bytewise_ || comparator_->EqualMeansIdentical(); }

  int Compare(std::string_view a, std::string_view b) const {
    if (bytewise_) [[likely]]
      return CompareBytes(a, b);
    return comparator_->Compare(a, b);
  }
  bool Equal(std::string_view a, std::string_view b) const {
    if (bytewise_) [[likely]]
      return EqualBytes(a, b);
    return comparator_->Compare(a, b) == 0;
  }
  bool Less(std::string_view a, std::string_view b) const { return Compare(a, b) < 0; }

  int Compare(const InternalKeyView& a, const InternalKeyView& b) const {
    const int c = Compare(a.user_key, b.user_key);
    if (c != 0) return c;
    return a.trailer > b.trailer ? -1 : a.trailer < b.trailer ? 1 : 0;
  }
  bool Less(const InternalKeyView& a, const InternalKeyView& b) const { return Compare(a, b) < 0; }

  // A number that never contradicts the order: Prefix(a) < Prefix(b) implies a < b. 0 if the order is not bytewise.
  uint64_t Prefix(std::string_view key) const { return bytewise_ ? BigEndianPrefix(key) : 0; }

 private:
  const Comparator* comparator_;
  bool bytewise_;
};

}  // namespace sepal
