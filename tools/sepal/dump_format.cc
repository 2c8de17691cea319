#include "tools/sepal/dump_format.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "absl/strings/str_format.h"
#include "sepal/db.h"
#include "tools/terminal/utf8.h"
#include "util/base/coding.h"
#include "util/base/hash.h"
#include "util/base/status.h"
#include "util/base/strings.h"

namespace sepal::tools {
namespace {

constexpr std::string_view kMagic = "sepal-dump";
constexpr std::string_view kTextHeader = "sepal-dump 1 text";
constexpr std::string_view kBinaryHeader = "sepal-dump 1 binary";
constexpr std::string_view kExpires = "expires";
constexpr size_t kCheckBytes = size_t{256} << 10;
constexpr size_t kReadBytes = size_t{256} << 10;
// The maximum length of a line: an entry all of whose bytes are escaped.
constexpr size_t kMaxLineBytes = 4 * (kMaxKeyBytes + kMaxValueBytes) + 64;
// The last time that a database can store, in the year 10889.
constexpr uint64_t kMostMillis = (uint64_t{1} << 48) - 1;
constexpr size_t kMaxHeaderBytes = 64;
constexpr size_t kMaxNameBytes = size_t{1} << 20;

// The whole record except the value of an entry.
std::string FamilyRecord(std::string_view name) {
  std::string record = "F";
  PutLengthPrefixed(&record, name);
  return record;
}
void HeadOfEntry(std::string_view key, std::string_view value, uint64_t expires_at_millis, std::string* record) {
  *record = expires_at_millis == 0 ? "E" : "X";
  if (expires_at_millis != 0) PutFixed64(record, expires_at_millis);
  PutLengthPrefixed(record, key);
  PutVarint(record, value.size());
}

std::string Hex(uint64_t value) { return absl::StrFormat("%016x", value); }

template <class Number>
bool TakeNumber(std::string_view text, int base, Number* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number, base);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

// --- writing ---

DumpWriter::DumpWriter(DumpFormat format, std::ostream& out) : format_(format), out_(out) {
  out_ << (format == DumpFormat::kText ? kTextHeader : kBinaryHeader) << '\n';
}

void DumpWriter::Family(std::string_view name) {
  record_ = FamilyRecord(name);
  checksum_ = Checksum64(record_, checksum_);
  if (format_ == DumpFormat::kText) {
    out_ << "family " << Escaped(name) << '\n';
  } else {
    out_ << record_;
  }
}

void DumpWriter::Entry(std::string_view key, std::string_view value, uint64_t expires_at_millis) {
  HeadOfEntry(key, value, expires_at_millis, &record_);
  checksum_ = Checksum64(value, Checksum64(record_, checksum_));
  if (format_ == DumpFormat::kText) {
    if (expires_at_millis != 0) out_ << kExpires << ' ' << expires_at_millis;
    out_ << ' ' << Escaped(key) << '\t' << Escaped(value) << '\n';
  } else {
    out_ << record_ << value;
  }
  ++entries_;
  bytes_ += key.size() + value.size();
  unchecked_bytes_ += key.size() + value.size();
  if (unchecked_bytes_ >= kCheckBytes) Check();
}

void DumpWriter::Check() {
  unchecked_bytes_ = 0;
  if (format_ == DumpFormat::kText) {
    out_ << "check " << Hex(checksum_) << '\n';
    return;
  }
  record_ = "C";
  PutFixed64(&record_, checksum_);
  out_ << record_;
}

void DumpWriter::End() {
  if (format_ == DumpFormat::kText) {
    out_ << "end " << entries_ << ' ' << Hex(checksum_) << '\n';
    return;
  }
  record_ = "Z";
  PutVarint(&record_, entries_);
  PutFixed64(&record_, checksum_);
  out_ << record_;
}

// --- bytes that are read ---

// More into the buffer; false at the end of the input.
bool DumpReader::Fill() {
  buffer_.erase(0, at_);
  taken_ += at_;
  at_ = 0;
  const size_t before = buffer_.size();
  buffer_.resize(before + kReadBytes);
  in_.read(buffer_.data() + before, kReadBytes);
  buffer_.resize(before + static_cast<size_t>(in_.gcount()));
  return buffer_.size() > before;
}

std::string DumpReader::Place() const {
  return format_ == DumpFormat::kText ? absl::StrFormat("line %d", lines_) : absl::StrFormat("byte %d", bytes_read());
}

absl::Status DumpReader::Damage(std::string_view what) const {
  const bool text = format_ == DumpFormat::kText;
  return absl::DataLossError(absl::StrFormat(
      "the dump is damaged at %s: %s; get a whole copy of the file, or dump again%s", Place(), what,
      text ? " (of a text that was changed on purpose, remove the check lines and end it with \"end - -\")" : ""));
}

absl::Status DumpReader::TakeLine(size_t most_bytes) {
  ++lines_;
  size_t looked = 0;
  for (;;) {
    const size_t there = buffer_.size() - at_;
    const void* const end = std::memchr(buffer_.data() + at_ + looked, '\n', there - looked);
    if (end != nullptr) {
      const auto length = static_cast<size_t>(static_cast<const char*>(end) - (buffer_.data() + at_));
      line_.assign(buffer_, at_, length);
      at_ += length + 1;
      // An editor may have changed the line ends to those of another system.
      if (line_.ends_with('\r')) line_.pop_back();
      return absl::OkStatus();
    }
    if (there > most_bytes) return Damage("a line without an end");
    looked = there;
    if (!Fill()) return Damage("it ends here, before its last line (\"end\"): it was cut short");
  }
}

absl::Status DumpReader::TakeBytes(size_t bytes, std::string* to) {
  to->clear();
  while (to->size() < bytes) {
    if (at_ == buffer_.size() && !Fill()) return Damage("it ends here, before its end record: it was cut short");
    const size_t some = std::min(bytes - to->size(), buffer_.size() - at_);
    to->append(buffer_, at_, some);
    at_ += some;
  }
  return absl::OkStatus();
}

absl::Status DumpReader::TakeByte(uint8_t* byte) {
  std::string one;
  RETURN_IF_ERROR(TakeBytes(1, &one));
  *byte = static_cast<uint8_t>(one[0]);
  return absl::OkStatus();
}

absl::Status DumpReader::TakeVarint(uint64_t* value) {
  *value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    uint8_t byte = 0;
    RETURN_IF_ERROR(TakeByte(&byte));
    *value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return absl::OkStatus();
  }
  return Damage("a number is too long");
}

absl::Status DumpReader::TakeFixed64(uint64_t* value) {
  std::string bytes;
  RETURN_IF_ERROR(TakeBytes(8, &bytes));
  *value = DecodeFixed64(bytes.data());
  return absl::OkStatus();
}

absl::Status DumpReader::TakeString(size_t most_bytes, const char* what, std::string* to) {
  uint64_t bytes = 0;
  RETURN_IF_ERROR(TakeVarint(&bytes));
  if (bytes > most_bytes) return Damage(absl::StrFormat("a %s of %d bytes", what, bytes));
  return TakeBytes(bytes, to);
}

// --- parts ---

absl::Status DumpReader::Open() {
  std::string header;
  while (header.size() < kMaxHeaderBytes) {
    if (at_ == buffer_.size() && !Fill()) break;
    const char c = buffer_[at_++];
    if (c == '\n') break;
    header += c;
  }
  lines_ = 1;
  if (header.ends_with('\r')) header.pop_back();
  if (header == kTextHeader || header == kBinaryHeader) {
    format_ = header == kTextHeader ? DumpFormat::kText : DumpFormat::kBinary;
    return absl::OkStatus();
  }
  if (header.starts_with(kMagic)) {
    return absl::FailedPreconditionError(
        absl::StrFormat("the dump begins with \"%s\", a form that this version does not know (it knows \"%s\" and "
                        "\"%s\"): load it with a newer version",
                        Escaped(header), kTextHeader, kBinaryHeader));
  }
  return absl::InvalidArgumentError(
      absl::StrFormat("this is no dump: it does not begin with \"%s\" or \"%s\" as what sepal dump writes", kTextHeader,
                      kBinaryHeader));
}

absl::StatusOr<DumpPart> DumpReader::Next() { return format_ == DumpFormat::kText ? NextLine() : NextRecord(); }

absl::StatusOr<DumpPart> DumpReader::FamilyTaken() {
  if (family_.empty()) return Damage("a column family without a name");
  in_family_ = true;
  checksum_ = Checksum64(FamilyRecord(family_), checksum_);
  return DumpPart::kFamily;
}

absl::StatusOr<DumpPart> DumpReader::ExpiringTaken() {
  if (expires_at_millis_ == 0 || expires_at_millis_ > kMostMillis) {
    return Damage(absl::StrFormat("an entry that expires at %u", expires_at_millis_));
  }
  return EntryTaken();
}

absl::StatusOr<DumpPart> DumpReader::EntryTaken() {
  if (!in_family_) return Damage("an entry before the first column family");
  if (key_.size() > kMaxKeyBytes) return Damage(absl::StrFormat("a key of %d bytes", key_.size()));
  if (value_.size() > kMaxValueBytes) return Damage(absl::StrFormat("a value of %d bytes", value_.size()));
  std::string head;
  HeadOfEntry(key_, value_, expires_at_millis_, &head);
  checksum_ = Checksum64(value_, Checksum64(head, checksum_));
  ++entries_;
  return DumpPart::kEntry;
}

absl::Status DumpReader::CheckSum(uint64_t said) const {
  if (said == checksum_) return absl::OkStatus();
  return Damage(
      absl::StrFormat("the checksum here is %s, and that of what stands before it %s", Hex(said), Hex(checksum_)));
}

absl::StatusOr<DumpPart> DumpReader::Ended() {
  if (at_ < buffer_.size() || Fill()) return Damage("something follows its end");
  return DumpPart::kEnd;
}

absl::StatusOr<DumpPart> DumpReader::NextLine() {
  do {
    RETURN_IF_ERROR(TakeLine(kMaxLineBytes));
  } while (line_.empty() || line_.starts_with('#'));
  const std::string_view line = line_;
  if (line.starts_with(' ')) {
    expires_at_millis_ = 0;
    RETURN_IF_ERROR(TakeEntryLine(line.substr(1)));
    return EntryTaken();
  }
  const size_t space = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, space), rest = line.substr(std::min(space + 1, line.size()));
  if (word == "family") {
    std::optional<std::string> name = Unescaped(rest);
    if (!name.has_value()) return Damage("the name has a \\ that begins no escape: \\xNN stands for a byte");
    family_ = *std::move(name);
    return FamilyTaken();
  }
  if (word == kExpires) {
    const size_t key_at = std::min(rest.find(' '), rest.size());
    if (!TakeNumber(rest.substr(0, key_at), 10, &expires_at_millis_) || key_at == rest.size()) {
      return Damage("\"expires\" is followed by milliseconds since 1970, a space, a key, a tab and a value");
    }
    RETURN_IF_ERROR(TakeEntryLine(rest.substr(key_at + 1)));
    return ExpiringTaken();
  }
  if (word == "check") {
    uint64_t said = 0;
    if (!TakeNumber(rest, 16, &said)) return Damage("a checksum of 16 hexadecimal digits was expected");
    RETURN_IF_ERROR(CheckSum(said));
    return DumpPart::kCheck;
  }
  if (word == "end") return TakeEndLine(rest);
  return Damage(
      "this is no entry (a space, a key, a tab, a value), and neither \"family\", \"expires\", \"check\" nor \"end\"");
}

absl::Status DumpReader::TakeEntryLine(std::string_view entry) {
  const size_t tab = entry.find('\t');
  if (tab == std::string_view::npos) return Damage("an entry without a tab between key and value");
  std::optional<std::string> key = Unescaped(entry.substr(0, tab)), value = Unescaped(entry.substr(tab + 1));
  if (!key.has_value() || !value.has_value()) {
    return Damage("the entry has a \\ that begins no escape: \\xNN stands for a byte");
  }
  key_ = *std::move(key);
  value_ = *std::move(value);
  return absl::OkStatus();
}

// "-" is not checked.
absl::StatusOr<DumpPart> DumpReader::TakeEndLine(std::string_view rest) {
  const size_t space = std::min(rest.find(' '), rest.size());
  const std::string_view count = rest.substr(0, space), sum = rest.substr(std::min(space + 1, rest.size()));
  uint64_t said_entries = entries_, said = checksum_;
  if ((count != "-" && !TakeNumber(count, 10, &said_entries)) || (sum != "-" && !TakeNumber(sum, 16, &said))) {
    return Damage("\"end\" is followed by the number of entries and a checksum");
  }
  if (said_entries != entries_) {
    return Damage(absl::StrFormat("it says that there are %d entries, and there are %d", said_entries, entries_));
  }
  RETURN_IF_ERROR(CheckSum(said));
  return Ended();
}

absl::StatusOr<DumpPart> DumpReader::NextRecord() {
  uint8_t letter = 0;
  RETURN_IF_ERROR(TakeByte(&letter));
  uint64_t said = 0, said_entries = 0;
  switch (letter) {
    case 'F':
      RETURN_IF_ERROR(TakeString(kMaxNameBytes, "name", &family_));
      return FamilyTaken();
    case 'E':
    case 'X':
      expires_at_millis_ = 0;
      if (letter == 'X') RETURN_IF_ERROR(TakeFixed64(&expires_at_millis_));
      RETURN_IF_ERROR(TakeString(kMaxKeyBytes, "key", &key_));
      RETURN_IF_ERROR(TakeString(kMaxValueBytes, "value", &value_));
      return letter == 'X' ? ExpiringTaken() : EntryTaken();
    case 'C':
      RETURN_IF_ERROR(TakeFixed64(&said));
      RETURN_IF_ERROR(CheckSum(said));
      return DumpPart::kCheck;
    case 'Z':
      RETURN_IF_ERROR(TakeVarint(&said_entries));
      RETURN_IF_ERROR(TakeFixed64(&said));
      if (said_entries != entries_) {
        return Damage(absl::StrFormat("it says that there are %d entries, and there are %d", said_entries, entries_));
      }
      RETURN_IF_ERROR(CheckSum(said));
      return Ended();
    default:
      return Damage(absl::StrFormat("a record that begins with the byte 0x%02x", letter));
  }
}

}  // namespace sepal::tools
