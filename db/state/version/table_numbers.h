// The tables of a version by number: what an edit, which names tables by their numbers, finds them by.
//
// In chunks (chunks.h), which a changed one shares. Holds no table: who holds this holds the tables too.
//
// Thread-safety: immutable, but for assignment.
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

  // Of no tables.
  TableNumbers() = default;

  // Null if it is not there. Cost: two binary searches.
  const TableFile* Find(FileNumber number) const;
  size_t size() const;
  // Without `removed`, which are there, and with `added`, in any order.
  TableNumbers Edited(std::vector<Entry> removed, std::vector<Entry> added) const;
  // A number that occurs twice, and that was not there twice when this was made by Edited from another; nullopt if
  // there is none. Cost: what was changed then.
  std::optional<FileNumber> Twice() const;
  // The entries in order.
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
