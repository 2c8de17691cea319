// Finds the tables of a version by number, because edits name tables by their numbers.
//
// The entries are in chunks (chunks.h), which a changed object shares. It keeps no table alive: the owner of this
// object owns the tables too.
//
// Thread-safety: immutable, except for assignment.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "db/state/version/chunks.h"
#include "db/state/version/table_file.h"

namespace sepal {

class TableNumbers {
 public:
  struct Entry {
    FileNumber number;
    const TableFile* table = nullptr;
    friend bool operator==(const Entry&, const Entry&) = default;
  };

  // Without tables.
  TableNumbers() = default;

  // Null if the number is not there. Cost: two binary searches.
  const TableFile* Find(FileNumber number) const;
  size_t size() const;
  // Returns a copy without `removed`, which must be there, and with `added`, in any order.
  TableNumbers Edited(std::vector<Entry> removed, std::vector<Entry> added) const;
  // Returns a number that occurs twice, unless it did so already in the object from which Edited made this one; nullopt
  // if there is none. Cost: the size of that change.
  std::optional<FileNumber> Twice() const;
  // All entries in order.
  std::vector<Entry> Entries() const;

 private:
  struct Chunk {
    using Item = Entry;
    explicit Chunk(std::vector<Entry> e) : entries(std::move(e)) {}
    std::span<const Entry> items() const { return entries; }
    const std::vector<Entry> entries;
  };

  ChunkList<Chunk> list_;
};

}  // namespace sepal
