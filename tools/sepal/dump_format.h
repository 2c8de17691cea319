// The contents of a database as one file: `sepal dump` writes it, `sepal load` reads it
// (docs/reference/file-format.md).
//
//   sepal-dump 1 text
//   family default
//    key<TAB>value           an entry: a space, then key and value, escaped as `db scan` prints them
//   expires 1764380000000 key<TAB>value     one that expires, in milliseconds since 1970
//   check 0123456789abcdef   the checksum of all up to here, after each 256 KiB
//   end 1 0123456789abcdef   the number of entries, and the checksum of all
//
// The binary form, after "sepal-dump 1 binary\n": records that begin with a letter. Strings have their length before
// them as a varint.
//
// | letter | record      | content                          | text                |
// |--------|-------------|----------------------------------|---------------------|
// | F      | family      | name                             | family NAME         |
// | E      | entry       | key, value                       | space KEY tab VALUE |
// | X      | one that expires | time, fixed64; key, value   | expires MILLIS KEY tab VALUE |
// | C      | check       | checksum, fixed64                | check HEX           |
// | Z      | end         | entries, varint; checksum fixed64| end COUNT HEX       |
//
// The checksum is XXH3 over the F, E and X records in their binary form, whichever form the dump has: each F record,
// each E or X record up to its value, and each value, is hashed with the checksum before it as the seed; the first has
// 0.
#pragma once

#include <cstdint>
#include <istream>
#include <ostream>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sepal::tools {

enum class DumpFormat : uint8_t { kText, kBinary };

// Memory: the largest entry. The stream's owner must check that the bytes reached the disk.
class DumpWriter {
 public:
  DumpWriter(DumpFormat format, std::ostream& out);
  void Family(std::string_view name);
  // `expires_at_millis`: since 1970; 0: it does not expire.
  void Entry(std::string_view key, std::string_view value, uint64_t expires_at_millis = 0);
  void End();

  uint64_t entries() const { return entries_; }
  uint64_t bytes() const { return bytes_; }  // of keys and values

 private:
  void Check();

  const DumpFormat format_;
  std::ostream& out_;
  std::string record_;
  uint64_t checksum_ = 0;
  uint64_t entries_ = 0;
  uint64_t bytes_ = 0;
  uint64_t unchecked_bytes_ = 0;
};

enum class DumpPart : uint8_t { kFamily, kEntry, kCheck, kEnd };

// Memory: the largest entry. DataLoss for a damaged or truncated dump, InvalidArgument for a file that is no dump; the
// messages have the line (in the binary form: the byte), and a remedy.
class DumpReader {
 public:
  explicit DumpReader(std::istream& in) : in_(in) {}
  absl::Status Open();
  // The next part. After kCheck and kEnd, all parts before it are known to be whole; nothing follows kEnd.
  absl::StatusOr<DumpPart> Next();

  const std::string& family() const { return family_; }
  const std::string& key() const { return key_; }
  const std::string& value() const { return value_; }
  uint64_t expires_at_millis() const { return expires_at_millis_; }  // of the entry; 0: it does not expire
  uint64_t bytes_read() const { return taken_ + at_; }
  // "line 7", "byte 1234".
  std::string Place() const;
  absl::Status Damage(std::string_view what) const;

 private:
  bool Fill();
  absl::Status TakeLine(size_t most_bytes);
  absl::Status TakeByte(uint8_t* byte);
  absl::Status TakeVarint(uint64_t* value);
  absl::Status TakeBytes(size_t bytes, std::string* to);
  absl::Status TakeString(size_t most_bytes, const char* what, std::string* to);
  absl::Status TakeFixed64(uint64_t* value);
  absl::StatusOr<DumpPart> NextLine();
  absl::StatusOr<DumpPart> NextRecord();
  absl::StatusOr<DumpPart> TakeEndLine(std::string_view rest);
  absl::Status TakeEntryLine(std::string_view entry);
  absl::StatusOr<DumpPart> FamilyTaken();
  absl::StatusOr<DumpPart> ExpiringTaken();
  absl::StatusOr<DumpPart> EntryTaken();
  absl::Status CheckSum(uint64_t said) const;
  absl::StatusOr<DumpPart> Ended();

  std::istream& in_;
  DumpFormat format_ = DumpFormat::kText;
  std::string buffer_;  // from `at_` on: read from `in_`, and not taken yet
  size_t at_ = 0;
  uint64_t taken_ = 0;  // bytes before the buffer
  uint64_t lines_ = 0;
  std::string line_;
  std::string family_, key_, value_;
  uint64_t expires_at_millis_ = 0;
  bool in_family_ = false;
  uint64_t checksum_ = 0;
  uint64_t entries_ = 0;
};

}  // namespace sepal::tools
