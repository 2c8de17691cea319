#include "tests/corruption/mutation.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "util/check.h"
#include "util/random.h"

namespace sepal::corruption {

namespace {

std::string_view Name(MutationKind kind) {
  switch (kind) {
    case MutationKind::kFlipBit:
      return "flip bit";
    case MutationKind::kTruncate:
      return "truncate to";
    case MutationKind::kZeroSector:
      return "zero sector";
    case MutationKind::kSwapSectors:
      return "exchange sector";
    case MutationKind::kDuplicateSector:
      return "copy sector";
    case MutationKind::kSwapFiles:
      return "exchange with file";
    case MutationKind::kDuplicateFile:
      return "copy over file";
    case MutationKind::kRemoveFile:
      return "remove";
    case MutationKind::kStaleFile:
      return "bring back an older file, number";
    case MutationKind::kGarbageSector:
      return "garbage in sector";
    case MutationKind::kAppendSector:
      return "append a sector";
  }
  return "unknown";
}

std::string KindOf(const std::string& file) {
  const size_t dot = file.find('.');
  return dot == std::string::npos ? "MANIFEST" : file.substr(dot);
}

std::string Garbage(uint64_t seed, size_t bytes) {
  std::string garbage(bytes, '\0');
  Random random(seed);
  for (char& c : garbage) c = static_cast<char>(random.Next());
  return garbage;
}

}  // namespace

std::string ToString(const Mutation& m) {
  std::string s = absl::StrFormat("%s: %s", m.file, Name(m.kind));
  switch (m.kind) {
    case MutationKind::kFlipBit:
      return absl::StrFormat("%s %u of byte %u", s, m.place % 8, m.place / 8);
    case MutationKind::kTruncate:
    case MutationKind::kZeroSector:
    case MutationKind::kStaleFile:
      return absl::StrFormat("%s %u", s, m.place);
    case MutationKind::kSwapSectors:
    case MutationKind::kDuplicateSector:
      return absl::StrFormat("%s %u, %s sector %u", s, m.place, m.other_file, m.other_place);
    case MutationKind::kSwapFiles:
    case MutationKind::kDuplicateFile:
      return absl::StrFormat("%s %s", s, m.other_file);
    case MutationKind::kGarbageSector:
      return absl::StrFormat("%s %u, seed %u", s, m.place, m.other_place);
    case MutationKind::kAppendSector:
      return absl::StrFormat("%s, seed %u", s, m.other_place);
    case MutationKind::kRemoveFile:
      break;
  }
  return s;
}

void Mutations::Add(Mutation first, uint64_t count) {
  groups_.push_back({std::move(first), count});
  count_ += count;
}

Mutations::Mutations(const Subject* subject) : subject_(subject) {
  for (const auto& [file, bytes] : subject->files) {
    const uint64_t sectors = (bytes.size() + kSectorBytes - 1) / kSectorBytes;
    for (uint64_t i = 0; i < sectors; ++i) sectors_.push_back({file, i});
  }
  for (const auto& [file, bytes] : subject->files) {
    const uint64_t sectors = (bytes.size() + kSectorBytes - 1) / kSectorBytes;
    Add({.kind = MutationKind::kFlipBit, .file = file}, bytes.size() * 8);
    Add({.kind = MutationKind::kTruncate, .file = file}, bytes.size());
    Add({.kind = MutationKind::kZeroSector, .file = file}, sectors);
    for (uint64_t seed = 1; seed <= 4; ++seed) {
      Add({.kind = MutationKind::kGarbageSector, .file = file, .other_place = seed}, sectors);
      Add({.kind = MutationKind::kAppendSector, .file = file, .other_place = seed - 1}, 1);
    }
    Add({.kind = MutationKind::kRemoveFile, .file = file}, 1);
    for (const auto& [other, other_bytes] : subject->files) {
      if (KindOf(other) != KindOf(file) || other == file) continue;
      if (file < other) Add({.kind = MutationKind::kSwapFiles, .file = file, .other_file = other}, 1);
      Add({.kind = MutationKind::kDuplicateFile, .file = file, .other_file = other}, 1);
    }
  }
  for (uint64_t i = 0; i < subject->stale.size(); ++i) {
    Add({.kind = MutationKind::kStaleFile, .file = subject->stale[i].first, .place = i}, 1);
  }
  // By the first sector; the others follow in At.
  for (const Sector& sector : sectors_) {
    Add({.kind = MutationKind::kSwapSectors, .file = sector.file, .place = sector.number}, sectors_.size());
    Add({.kind = MutationKind::kDuplicateSector, .file = sector.file, .place = sector.number}, sectors_.size());
  }
}

Mutation Mutations::At(uint64_t index) const {
  SEPAL_CHECK(index < count_);
  for (const Group& group : groups_) {
    if (index >= group.count) {
      index -= group.count;
      continue;
    }
    Mutation mutation = group.first;
    switch (mutation.kind) {
      case MutationKind::kFlipBit:
      case MutationKind::kTruncate:
      case MutationKind::kZeroSector:
      case MutationKind::kGarbageSector:
        mutation.place = index;
        break;
      case MutationKind::kSwapSectors:
      case MutationKind::kDuplicateSector:
        mutation.other_file = sectors_[index].file;
        mutation.other_place = sectors_[index].number;
        break;
      case MutationKind::kSwapFiles:
      case MutationKind::kDuplicateFile:
      case MutationKind::kRemoveFile:
      case MutationKind::kStaleFile:
      case MutationKind::kAppendSector:
        break;
    }
    return mutation;
  }
  SEPAL_CHECK(false);
  return {};
}

std::string_view Mutations::SectorOf(const std::string& bytes, uint64_t number) const {
  return std::string_view(bytes).substr(number * kSectorBytes, kSectorBytes);
}

std::map<std::string, const std::string*> Mutations::Apply(const Mutation& m, std::vector<std::string>* buffers) const {
  const Files& files = subject_->files;
  buffers->assign(2, {});
  std::string& first = (*buffers)[0];
  std::string& second = (*buffers)[1];
  std::map<std::string, const std::string*> changed;
  if (files.contains(m.file)) first = files.at(m.file);
  if (!m.other_file.empty()) second = files.at(m.other_file);
  changed[m.file] = &first;
  // Up to where both sectors have bytes.
  const auto overwrite = [](std::string* bytes, uint64_t number, std::string_view with) {
    const uint64_t begin = number * kSectorBytes;
    const uint64_t length = std::min<uint64_t>(with.size(), bytes->size() - begin);
    bytes->replace(begin, length, with.substr(0, length));
  };
  switch (m.kind) {
    case MutationKind::kFlipBit:
      first[m.place / 8] = static_cast<char>(first[m.place / 8] ^ (1 << (m.place % 8)));
      break;
    case MutationKind::kTruncate:
      first.resize(m.place);
      break;
    case MutationKind::kZeroSector:
      overwrite(&first, m.place, std::string(kSectorBytes, '\0'));
      break;
    case MutationKind::kGarbageSector:
      overwrite(&first, m.place, Garbage(m.other_place * 1000003 + m.place, kSectorBytes));
      break;
    case MutationKind::kAppendSector:
      first += m.other_place == 0 ? std::string(kSectorBytes, '\0') : Garbage(m.other_place, kSectorBytes);
      break;
    case MutationKind::kSwapSectors:
    case MutationKind::kDuplicateSector: {
      const std::string one(SectorOf(files.at(m.file), m.place));
      const std::string other(SectorOf(files.at(m.other_file), m.other_place));
      std::string* target = m.other_file == m.file ? &first : &second;
      overwrite(target, m.other_place, one);
      if (m.kind == MutationKind::kSwapSectors) overwrite(&first, m.place, other);
      if (target == &second) changed[m.other_file] = &second;
      break;
    }
    case MutationKind::kSwapFiles:
      first.swap(second);
      changed[m.other_file] = &second;
      break;
    case MutationKind::kDuplicateFile:
      changed = {{m.other_file, &first}};
      break;
    case MutationKind::kRemoveFile:
      changed[m.file] = nullptr;
      break;
    case MutationKind::kStaleFile:
      first = subject_->stale[m.place].second;
      break;
  }
  std::erase_if(changed, [&](const auto& entry) {
    const auto it = files.find(entry.first);
    return entry.second != nullptr && it != files.end() && it->second == *entry.second;
  });
  return changed;
}

}  // namespace sepal::corruption
