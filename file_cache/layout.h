// What the directory of a cache holds. Version 1; what is of another is made anew.
//
// `pages`: slots of kPageBytes each. A slot has the bytes of one page of a file, from its start; what lies behind them,
// and all of a slot that the index does not name, means nothing.
//
// `index`: a header, and an entry for each slot, in their order.
//
//   | offset        | size | meaning                                     |
//   |---------------|------|---------------------------------------------|
//   | 0             | 8    | magic                                       |
//   | 8             | 4    | version                                     |
//   | 12            | 4    | kPageBytes                                  |
//   | 16            | 8    | Checksum64 of the 16 bytes before, seed 0   |
//   | 24 + 16 * i   | 8    | tag of the page in slot i; 0: none          |
//   | 32 + 16 * i   | 8    | Checksum64 of its bytes, seed of its name   |
//
// The name of a page is the unique id of its file, its number in the file, and its length, which is kPageBytes but for
// the last page of a file. Tag and seed are two hashes of it. So any bytes are an index: an entry whose slot has other
// bytes, or whose page is another's, does not match. Neither file is ever synced.
//
// `LOCK`: held by the process that uses the cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sepal::file_cache {

inline constexpr char kIndexName[] = "index";
inline constexpr char kPagesName[] = "pages";
inline constexpr char kLockName[] = "LOCK";

inline constexpr uint64_t kMagic = 0x6568636163736c70;  // "plscache"
inline constexpr uint32_t kVersion = 1;
inline constexpr uint32_t kPageBytes = uint32_t{16} << 10;
inline constexpr size_t kHeaderBytes = 24;
inline constexpr size_t kEntryBytes = 16;

// What the two hashes of pages of one file begin with.
struct FileKey {
  uint64_t tag = 0;
  uint64_t seed = 0;
  friend bool operator==(const FileKey&, const FileKey&) = default;
};
FileKey KeyOf(std::string_view unique_id);

struct PageName {
  uint64_t tag = 0;  // never 0
  uint64_t seed = 0;
  uint32_t length = 0;
};
// Page `number` of a file of `file_bytes` bytes, which has it.
PageName NameOf(const FileKey& file, uint64_t number, uint64_t file_bytes);

struct Entry {
  uint64_t tag = 0;
  uint64_t checksum = 0;
  friend bool operator==(const Entry&, const Entry&) = default;
};
void EncodeEntry(const Entry& entry, char* bytes);
Entry DecodeEntry(const char* bytes);

std::string EncodeHeader();
// Whether an index that begins so is of this version.
bool IsHeader(std::string_view bytes);

}  // namespace sepal::file_cache
