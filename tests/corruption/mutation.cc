#include "tests/corruption/mutation.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_format.h"
#include "util/base/check.h"
#include "util/base/hash.h"
#include "util/base/random.h"

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

// Up to where both sectors have bytes.
void OverwriteSector(std::string* bytes, uint64_t number, std::string_view with) {
  const uint64_t begin = number * kSectorBytes;
  const uint64_t length = std::min<uint64_t>(with.size(), bytes->size() - begin);
  bytes->replace(begin, length, with.substr(0, length));
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

Changes Mutations::Apply(const Mutation& m, std::vector<std::string>* buffers) const {
  const Files& files = subject_->files;
  buffers->assign(2, {});
  std::string& first = (*buffers)[0];
  std::string& second = (*buffers)[1];
  Changes changed;
  if (files.contains(m.file)) first = files.at(m.file);
  if (!m.other_file.empty()) second = files.at(m.other_file);
  changed[m.file] = &first;
  switch (m.kind) {
    case MutationKind::kFlipBit:
      first[m.place / 8] = static_cast<char>(first[m.place / 8] ^ (1 << (m.place % 8)));
      break;
    case MutationKind::kTruncate:
      first.resize(m.place);
      break;
    case MutationKind::kZeroSector:
      OverwriteSector(&first, m.place, std::string(kSectorBytes, '\0'));
      break;
    case MutationKind::kGarbageSector:
      OverwriteSector(&first, m.place, Garbage(m.other_place * 1000003 + m.place, kSectorBytes));
      break;
    case MutationKind::kAppendSector:
      first += m.other_place == 0 ? std::string(kSectorBytes, '\0') : Garbage(m.other_place, kSectorBytes);
      break;
    case MutationKind::kSwapSectors:
    case MutationKind::kDuplicateSector: {
      const std::string one(SectorOf(files.at(m.file), m.place));
      const std::string other(SectorOf(files.at(m.other_file), m.other_place));
      std::string* target = m.other_file == m.file ? &first : &second;
      OverwriteSector(target, m.other_place, one);
      if (m.kind == MutationKind::kSwapSectors) OverwriteSector(&first, m.place, other);
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

bool MustBeReported(const Subject& subject, const Mutation& mutation) {
  if (subject.has_ring && mutation.file.ends_with(".log")) return false;
  const auto it = subject.witnessed_bytes.find(mutation.file);
  return mutation.kind == MutationKind::kFlipBit && it != subject.witnessed_bytes.end() &&
         mutation.place / 8 < it->second;
}

bool MayLoseWitness(const Subject& subject, const Mutation& mutation) {
  if (subject.tail.empty() || mutation.kind == MutationKind::kFlipBit) return false;
  // One that hits both, the log and the copy of its bytes.
  if (subject.has_ring) {
    const auto hits = [&](const std::string& ring, const std::string& log) {
      return ring.ends_with(".ring") && log == subject.newest_log;
    };
    return hits(mutation.file, mutation.other_file) || hits(mutation.other_file, mutation.file);
  }
  const uint64_t witnessed = subject.witnessed_bytes.at(subject.newest_log);
  const auto touches = [&](const std::string& file, uint64_t sector) {
    return file == subject.newest_log && (sector + 1) * kSectorBytes > witnessed;
  };
  switch (mutation.kind) {
    case MutationKind::kFlipBit:
      return false;
    case MutationKind::kTruncate:
    case MutationKind::kRemoveFile:
    case MutationKind::kStaleFile:
    case MutationKind::kSwapFiles:
    case MutationKind::kDuplicateFile:
    case MutationKind::kAppendSector:
      return mutation.file == subject.newest_log || mutation.other_file == subject.newest_log;
    case MutationKind::kZeroSector:
    case MutationKind::kGarbageSector:
      return touches(mutation.file, mutation.place);
    case MutationKind::kSwapSectors:
    case MutationKind::kDuplicateSector:
      return touches(mutation.file, mutation.place) || touches(mutation.other_file, mutation.other_place);
  }
  return false;
}

bool MayLoseBothEnds(const Subject& subject, const Mutation& mutation) {
  if (mutation.kind != MutationKind::kSwapSectors) return false;
  return (mutation.file == subject.newest_log && mutation.other_file == subject.newest_manifest) ||
         (mutation.file == subject.newest_manifest && mutation.other_file == subject.newest_log);
}

namespace {

void Try(const Subject& subject, uint64_t number, const Mutations& mutations, uint64_t index, MutationCase body,
         reliability::Search* search) {
  if (!search->Begin(absl::StrFormat("subject=%u mutation=%u", number, index))) return;
  const Mutation mutation = mutations.At(index);
  std::vector<std::string> buffers;
  const Changes changed = mutations.Apply(mutation, &buffers);
  if (changed.empty()) return;
  body(subject, mutation, changed, search);
  search->Count(Mix64(number << 40 | index));
}

}  // namespace

void ForEachMutation(reliability::Search* search, MutationCase body) {
  std::vector<Subject> subjects;
  for (const SubjectKind kind : kAllSubjects) subjects.push_back(MakeSubject(kind));
  std::vector<Mutations> mutations;
  uint64_t all = 0;
  for (const Subject& subject : subjects) all += mutations.emplace_back(&subject).count();
  const auto try_one = [&](uint64_t number, uint64_t index) {
    Try(subjects[number], number, mutations[number], index, body, search);
  };
  if (!search->only_case().empty()) {
    const uint64_t number = reliability::NumberIn(search->only_case(), "subject").value_or(0) % subjects.size();
    const uint64_t index = reliability::NumberIn(search->only_case(), "mutation").value_or(0);
    if (index < mutations[number].count()) try_one(number, index);
    return;
  }
  uint64_t step = all * 618 / 1000 + 2 * search->seed() + 1;
  while (std::gcd(step, all) != 1) ++step;
  uint64_t at = Random(search->seed()).Uniform(all);
  for (uint64_t done = 0; done < all && search->GoOn(); ++done, at = (at + step) % all) {
    uint64_t number = 0;
    uint64_t index = at;
    while (index >= mutations[number].count()) index -= mutations[number++].count();
    try_one(number, index);
  }
}

}  // namespace sepal::corruption
