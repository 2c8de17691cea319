#include "db/act/files/directory_listing.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "db/format/file_names.h"
#include "util/base/status.h"

namespace sepal {

namespace {

bool ListedBefore(const ListedTable& table, FileNumber number) { return table.number < number; }

}  // namespace

absl::StatusOr<DirectoryListing> ListSortedOut(Directory* directory) {
  ASSIGN_OR_RETURN(std::vector<DirectoryEntry> entries, directory->List());
  DirectoryListing listing;
  for (DirectoryEntry& entry : entries) {
    const std::optional<ParsedFileName> parsed = ParseFileName(entry.name);
    if (parsed.has_value() && parsed->kind == FileKind::kTable) {
      listing.tables.push_back({parsed->number, entry.size_bytes});
    } else {
      listing.others.push_back(std::move(entry));
    }
  }
  const auto by_number = [](const ListedTable& a, const ListedTable& b) { return a.number < b.number; };
  if (!std::is_sorted(listing.tables.begin(), listing.tables.end(), by_number)) {
    std::sort(listing.tables.begin(), listing.tables.end(), by_number);
  }
  return listing;
}

size_t ListedTableFinder::Find(FileNumber number) {
  const auto begin = listed_.begin();
  if (at_ > 0 && !ListedBefore(listed_[at_ - 1], number)) at_ = 0;
  size_t step = 1;
  while (at_ + step <= listed_.size() && ListedBefore(listed_[at_ + step - 1], number)) {
    at_ += step;
    step *= 2;
  }
  const size_t end = std::min(at_ + step, listed_.size());
  at_ = static_cast<size_t>(
      std::lower_bound(begin + static_cast<ptrdiff_t>(at_), begin + static_cast<ptrdiff_t>(end), number, ListedBefore) -
      begin);
  return at_ < listed_.size() && listed_[at_].number == number ? at_ : listed_.size();
}

absl::StatusOr<bool> FileExists(Directory* directory, std::string_view name) {
  const absl::Status opened = directory->OpenForRead(name, ReadMode::kBuffered).status();
  if (opened.ok()) return true;
  if (absl::IsNotFound(opened)) return false;
  if (absl::IsResourceExhausted(opened)) return opened;
  // Opening anything but a regular file fails in many ways, and a regular file may be unreadable; the listing
  // distinguishes them.
  ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> listing, directory->List());
  return std::any_of(listing.begin(), listing.end(), [&](const DirectoryEntry& entry) { return entry.name == name; });
}

absl::StatusOr<bool> HoldsDatabaseFiles(Directory* directory) {
  ASSIGN_OR_RETURN(const bool opened, FileExists(directory, kLockFileName));
  if (opened) return true;
  ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> listing, directory->List());
  return std::any_of(listing.begin(), listing.end(),
                     [](const DirectoryEntry& entry) { return ParseFileName(entry.name).has_value(); });
}

}  // namespace sepal
