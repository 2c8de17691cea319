// What a pool holds. Version 1, and 2 of a directory that has had a file in another pool; what is of a later one is
// refused.
//
// A directory is a RADOS namespace of the name of its path. Its object `.index` has, as omap:
//   v         -> the version, set to 2 together with the first entry that needs it
//   n:NAME    -> the entry of a file
//   d:ID or d:ID/REF -> the entry of a file without a name, whose objects have to be removed yet
//   e         -> the epoch: how often the lock was taken; each change of a lock's holder compares it
//   h         -> the addresses of the client that took the lock last; `-` once it let go in order
//   w         -> who that is, for people
// The object `.directories` of the namespace without a name has a key for each directory.
//
// An entry is `ID OBJECT_BYTES SIZE REF HOME`. SIZE is `-` while the file is open for writing, and its objects tell it.
// The bytes are in objects ID.0, ID.1, ... of OBJECT_BYTES each, without gaps, in the namespace HOME (`.`: the
// directory's own). OBJECT_BYTES is `BYTES@POOL` where they lie in the data pool of that number, there in the namespace
// `/OWN:NAMESPACE`, OWN being the number of the directory's pool: no other pool's files are there, and no directory's
// name begins with a slash. What has omap never lies there. An ID begins with the number of the client that made it,
// which no other client ever has: so whatever a fenced client still sends is never an object of another.
//
// REF is `-` for a file that has one name. Names that share a file each have a REF of their own, and its object ID.refs
// has `c`, how many there are, and a key for each REF. The reference is added before the name, and goes after it; who
// takes `c` to 0 removes the objects.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sepal::rados {

inline constexpr char kVersion[] = "1";
inline constexpr char kVersionOfPools[] = "2";
inline constexpr int64_t kOwnPool = -1;
inline constexpr char kIndexObject[] = ".index";
inline constexpr char kDirectoriesObject[] = ".directories";

struct Entry {
  std::string id;
  uint64_t object_bytes = 0;
  int64_t size = -1;  // -1: its objects tell
  std::string ref;    // empty: the file has one name
  std::string home;   // empty: the directory's own
  int64_t pool = kOwnPool;
  friend bool operator==(const Entry&, const Entry&) = default;
};

// How many objects a file of that size has; none where the size is unknown.
uint64_t ObjectsOf(const Entry& entry);

std::string EncodeEntry(const Entry& entry);
// DataLoss for anything that the function above does not write.
absl::StatusOr<Entry> DecodeEntry(std::string_view text);

std::string NameKey(std::string_view name);
std::string DeadKey(const Entry& entry);
std::string ObjectName(std::string_view id, uint64_t number);
std::string RefsObject(std::string_view id);
// The ID in an object's name; empty for the objects that are of no file.
std::string_view IdOfObject(std::string_view object);

// Removes what does not matter in a path, so that equal paths are one namespace.
std::string NamespaceOf(std::string_view path);

}  // namespace sepal::rados
