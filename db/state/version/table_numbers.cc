#include "db/state/version/table_numbers.h"

#include <algorithm>

namespace sepal {

namespace {

bool NumberLess(const TableNumbers::Entry& a, const TableNumbers::Entry& b) { return a.number < b.number; }

void SortByNumber(std::vector<TableNumbers::Entry>* entries) {
  if (!std::is_sorted(entries->begin(), entries->end(), NumberLess)) {
    std::sort(entries->begin(), entries->end(), NumberLess);
  }
}

}  // namespace

const TableFile* TableNumbers::Find(FileNumber number) const {
  const Entry wanted{number, nullptr};
  const auto ends_before = [&](const auto& chunk) { return NumberLess(chunk->entries.back(), wanted); };
  const auto chunk = std::partition_point(list_.chunks.begin(), list_.chunks.end(), ends_before);
  if (chunk == list_.chunks.end()) return nullptr;
  const auto entry = std::lower_bound((*chunk)->entries.begin(), (*chunk)->entries.end(), wanted, NumberLess);
  return entry->number == number ? entry->table : nullptr;
}

size_t TableNumbers::size() const {
  size_t n = 0;
  for (const auto& chunk : list_.chunks) n += chunk->entries.size();
  return n;
}

TableNumbers TableNumbers::Edited(std::vector<Entry> removed, std::vector<Entry> added) const {
  SortByNumber(&removed);
  SortByNumber(&added);
  const auto make = [](std::vector<Entry> entries) { return std::make_shared<const Chunk>(std::move(entries)); };
  TableNumbers edited;
  edited.list_ = EditChunks<Chunk>(list_.chunks, removed, added, NumberLess, make);
  return edited;
}

std::optional<FileNumber> TableNumbers::Twice() const {
  for (const size_t i : list_.fresh) {
    const std::vector<Entry>& entries = list_.chunks[i]->entries;
    const auto same = [](const Entry& a, const Entry& b) { return a.number == b.number; };
    const auto twice = std::adjacent_find(entries.begin(), entries.end(), same);
    if (twice != entries.end()) return twice->number;
    if (i > 0 && same(list_.chunks[i - 1]->entries.back(), entries.front())) return entries.front().number;
    const bool last = i + 1 == list_.chunks.size();
    if (!last && same(entries.back(), list_.chunks[i + 1]->entries.front())) return entries.back().number;
  }
  return std::nullopt;
}

std::vector<TableNumbers::Entry> TableNumbers::Entries() const {
  std::vector<Entry> entries;
  entries.reserve(size());
  for (const auto& chunk : list_.chunks) entries.insert(entries.end(), chunk->entries.begin(), chunk->entries.end());
  return entries;
}

}  // namespace sepal
