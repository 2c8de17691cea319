#include "table/file/table_format.h"

#include <bit>
#include <cstring>

#include "absl/strings/str_format.h"
#include "util/base/coding.h"
#include "util/base/status.h"

namespace sepal {
namespace {

constexpr size_t kFooterVersionOffset = 92;
constexpr size_t kFooterChecksumOffset = 96;
constexpr size_t kFooterMagicOffset = 104;
constexpr uint16_t kFooterFlagHashable = 1;
constexpr uint32_t kFingerprintVersion = 2;

void PutHandle(std::string* out, BlockHandle handle) {
  PutFixed64(out, handle.offset);
  PutFixed64(out, handle.size);
}

BlockHandle ReadHandle(Decoder* in) {
  BlockHandle handle;
  handle.offset = in->Fixed64();
  handle.size = in->Fixed64();
  return handle;
}

// Checks that the units of the tail follow each other without gaps, up to the footer.
absl::Status CheckLayout(const Footer& footer, std::string_view file, uint64_t file_size) {
  const uint64_t at = file_size - kFooterBytes;
  for (const BlockHandle& unit : {footer.root, footer.guard, footer.properties}) {
    if (unit.size > kMaxUnitBytes || unit.offset > file_size) {
      return Damaged(file, at, "footer: a unit lies outside of the file");
    }
  }
  if (footer.range_deletes != BlockHandle{}) {
    return absl::FailedPreconditionError(
        absl::StrFormat("%s: holds range deletes, which this version of the library does not read", file));
  }
  if (footer.root.offset == 0 || footer.root.size == 0 || footer.properties.size == 0) {
    return Damaged(file, at, "footer: root or properties missing");
  }
  uint64_t end = EndOf(footer.root);
  if (footer.guard != BlockHandle{}) {
    if (footer.guard.offset != end) {
      return Damaged(file, at, "footer: guard's offset", std::to_string(end), std::to_string(footer.guard.offset));
    }
    end = EndOf(footer.guard);
  }
  if (footer.properties.offset != end) {
    return Damaged(file, at, "footer: properties' offset", std::to_string(end),
                   std::to_string(footer.properties.offset));
  }
  if (EndOf(footer.properties) != at) {
    return Damaged(file, at, "footer: end of the properties", std::to_string(at),
                   std::to_string(EndOf(footer.properties)));
  }
  return absl::OkStatus();
}

}  // namespace

std::string Footer::Encode() const {
  std::string out;
  out.reserve(kFooterBytes);
  PutHandle(&out, root);
  PutHandle(&out, range_deletes);
  PutHandle(&out, guard);
  PutHandle(&out, properties);
  PutFixed64(&out, table_id);
  PutFixed64(&out, hash_seed);
  PutFixed64(&out, file_size);
  out.push_back(static_cast<char>(kChecksumXxh3));
  out.push_back(static_cast<char>(kHashXxh3));
  PutFixed16(&out, hashable ? kFooterFlagHashable : 0);
  PutFixed32(&out, version);
  PutFixed64(&out, Checksum64(out, 0));
  PutFixed64(&out, kTableMagic);
  return out;
}

absl::StatusOr<Footer> Footer::Decode(std::string_view bytes, std::string_view file, uint64_t file_size) {
  if (bytes.size() < kFooterBytes || file_size < kFooterBytes) {
    return Damaged(file, 0, "not a table file: too short for a footer", absl::StrFormat("%u bytes", kFooterBytes),
                   absl::StrFormat("%u", file_size));
  }
  bytes.remove_prefix(bytes.size() - kFooterBytes);
  const uint64_t at = file_size - kFooterBytes;
  const uint64_t magic = DecodeFixed64(bytes.data() + kFooterMagicOffset);
  if (magic != kTableMagic) {
    return Damaged(file, at + kFooterMagicOffset, "not a table file, or truncated: magic number", Hex64(kTableMagic),
                   Hex64(magic));
  }
  const uint32_t version = DecodeFixed32(bytes.data() + kFooterVersionOffset);
  if (version > kTableFormatVersion && version != kFingerprintVersion) {
    return absl::FailedPreconditionError(
        absl::StrFormat("%s: table format version %u is newer than the newest that this library reads, %u", file,
                        version, kTableFormatVersion));
  }
  const uint64_t expected = ComputeChecksum(bytes);
  if (const uint64_t got = ChecksumOf(bytes); expected != got) {
    return Damaged(file, at + kFooterChecksumOffset, "footer's checksum", Hex64(expected), Hex64(got));
  }
  if (version == kFingerprintVersion) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s: the table has fingerprint lanes (format 2), which this version does not read; rewrite it with Sepal 0.1.0",
        file));
  }

  Footer footer;
  Decoder in(bytes);
  footer.root = ReadHandle(&in);
  footer.range_deletes = ReadHandle(&in);
  footer.guard = ReadHandle(&in);
  footer.properties = ReadHandle(&in);
  footer.table_id = in.Fixed64();
  footer.hash_seed = in.Fixed64();
  footer.file_size = in.Fixed64();
  const uint8_t checksum_kind = in.Byte();
  const uint8_t hash_kind = in.Byte();
  const uint16_t flags = in.Fixed16();
  if (version == 0 || checksum_kind != kChecksumXxh3 || hash_kind != kHashXxh3 || (flags & ~kFooterFlagHashable) != 0) {
    return absl::FailedPreconditionError(
        absl::StrFormat("%s: format version %u with checksum kind %u, hash kind %u, flags %u is not known", file,
                        version, checksum_kind, hash_kind, flags));
  }
  footer.version = version;
  footer.hashable = (flags & kFooterFlagHashable) != 0;
  if (footer.file_size != file_size) {
    return Damaged(file, at, "size of the file", std::to_string(footer.file_size), std::to_string(file_size));
  }
  RETURN_IF_ERROR(CheckLayout(footer, file, file_size));
  return footer;
}

uint64_t Footer::ComputeChecksum(std::string_view bytes) {
  return Checksum64(bytes.substr(bytes.size() - kFooterBytes, kFooterChecksumOffset), 0);
}

uint64_t Footer::ChecksumOf(std::string_view bytes) {
  return DecodeFixed64(bytes.data() + bytes.size() - kFooterBytes + kFooterChecksumOffset);
}

namespace {

// Visits the fields of TableProperties with their tags, in one place for both directions: `visit(tag, field)` for each.
template <class Properties, class Visit>
void ForEachField(Properties& p, Visit visit) {
  visit(1, p.entries);
  visit(2, p.tombstones);
  visit(3, p.distinct_keys);
  visit(4, p.raw_key_bytes);
  visit(5, p.raw_value_bytes);
  visit(6, p.data_blocks);
  visit(7, p.data_bytes);
  visit(8, p.leaf_pages);
  visit(9, p.leaf_page_bytes);
  visit(10, p.guard_bytes);
  visit(11, p.lowest_sequence);
  visit(12, p.highest_sequence);
  visit(13, p.smallest_key);
  visit(14, p.largest_key);
  visit(15, p.comparator_name);
  visit(16, p.column_family_name);
  visit(17, p.column_family_id);
  visit(18, p.creation_unix_micros);
  visit(19, p.filter_policy.lane_bits_per_key);
  visit(20, p.filter_policy.guard_bits_per_key);
  visit(21, p.lane_probes);
  visit(22, p.guard_probes);
  visit(23, p.expected_filter_rate);
  visit(24, p.compression);
  visit(25, p.block_bytes);
  visit(26, p.key_sketch);
  visit(27, p.writer_version);
  visit(28, p.database_id);
  visit(29, p.lane_bytes);
}

struct FieldWriter {
  std::string* out;

  void Bytes(uint32_t tag, std::string_view bytes) const {
    PutVarint(out, tag);
    PutLengthPrefixed(out, bytes);
  }
  void operator()(uint32_t tag, uint64_t value) const {
    char buffer[kMaxVarint64Bytes];
    Bytes(tag, {buffer, static_cast<size_t>(EncodeVarint64(buffer, value) - buffer)});
  }
  void operator()(uint32_t tag, uint32_t value) const { (*this)(tag, uint64_t{value}); }
  void operator()(uint32_t tag, SequenceNumber value) const { (*this)(tag, value.value()); }
  void operator()(uint32_t tag, double value) const {
    char buffer[8];
    EncodeFixed64(buffer, std::bit_cast<uint64_t>(value));
    Bytes(tag, {buffer, sizeof buffer});
  }
  void operator()(uint32_t tag, const std::string& value) const { Bytes(tag, value); }
};

// Sets the field that has `tag`.
struct FieldReader {
  uint32_t tag;
  std::string_view bytes;
  bool* ok;

  uint64_t Number(int max_bits) const {
    Decoder in(bytes);
    const uint64_t value = in.Varint(max_bits);
    if (!in.Done()) *ok = false;
    return value;
  }
  void operator()(uint32_t t, uint64_t& value) const {
    if (t == tag) value = Number(64);
  }
  void operator()(uint32_t t, uint32_t& value) const {
    if (t == tag) value = static_cast<uint32_t>(Number(32));
  }
  void operator()(uint32_t t, SequenceNumber& value) const {
    if (t == tag) value = SequenceNumber(Number(56));
  }
  void operator()(uint32_t t, double& value) const {
    if (t != tag) return;
    if (bytes.size() != 8) {
      *ok = false;
      return;
    }
    value = std::bit_cast<double>(DecodeFixed64(bytes.data()));
  }
  void operator()(uint32_t t, std::string& value) const {
    if (t == tag) value = std::string(bytes);
  }
};

bool IsInternalKey(std::string_view bytes) { return ParseInternalKey(bytes).has_value(); }

}  // namespace

std::string TableProperties::Encode() const {
  std::string out;
  ForEachField(*this, FieldWriter{&out});
  return out;
}

absl::StatusOr<TableProperties> TableProperties::Decode(std::string_view bytes, std::string_view file) {
  TableProperties properties;
  Decoder in(bytes);
  uint32_t last_tag = 0;
  while (!in.empty()) {
    const uint32_t tag = in.Varint32();
    const std::string_view field = in.Bytes(in.Varint32());
    bool ok = in.ok() && tag > last_tag;
    if (ok) {
      ForEachField(properties, FieldReader{tag, field, &ok});
    }
    if (!ok) return Damaged(file, 0, absl::StrFormat("properties: field %u is malformed", tag));
    last_tag = tag;
  }
  if (properties.entries == 0 || properties.data_blocks == 0 || properties.leaf_pages == 0 ||
      properties.lowest_sequence > properties.highest_sequence || !IsInternalKey(properties.smallest_key) ||
      !IsInternalKey(properties.largest_key)) {
    return Damaged(file, 0, "properties: counts, sequences or key range are impossible");
  }
  return properties;
}

}  // namespace sepal
