// Numbered kinds of damage to the files of a subject: every flipped bit, every length, every sector zeroed, exchanged
// with or copied over every other, every two files of a kind exchanged, every file lost, every older file brought back.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/corruption/subject.h"
#include "tests/reliability/harness.h"

namespace sepal::corruption {

inline constexpr uint64_t kSectorBytes = 512;

enum class MutationKind : uint8_t {
  kFlipBit,          // place: the bit's number in the file
  kTruncate,         // place: the length
  kZeroSector,       // place: the sector
  kSwapSectors,      // place: the sector; other_place: of other_file
  kDuplicateSector,  // the same; the second is overwritten
  kSwapFiles,
  kDuplicateFile,  // `file` over `other_file`
  kRemoveFile,
  kStaleFile,      // place: index into Subject::stale
  kGarbageSector,  // place: the sector; other_place: seeds the bytes
  kAppendSector,   // of bytes seeded by other_place; 0: zeros
};

struct Mutation {
  MutationKind kind = MutationKind::kFlipBit;
  std::string file = {};
  std::string other_file = {};
  uint64_t place = 0;
  uint64_t other_place = 0;
};

std::string ToString(const Mutation& mutation);

// The files that differ, with their bytes; nullptr for a file that is lost.
using Changes = std::map<std::string, const std::string*>;

// Immutable; `subject` outlives it.
class Mutations {
 public:
  explicit Mutations(const Subject* subject);

  uint64_t count() const { return count_; }
  Mutation At(uint64_t index) const;

  // Empty if the mutation changes nothing. `buffers` keeps the bytes.
  Changes Apply(const Mutation& mutation, std::vector<std::string>* buffers) const;

 private:
  struct Group {
    Mutation first;
    uint64_t count = 0;
  };
  struct Sector {
    std::string file;
    uint64_t number = 0;
  };
  void Add(Mutation first, uint64_t count);
  std::string_view SectorOf(const std::string& bytes, uint64_t number) const;

  const Subject* const subject_;
  std::vector<Group> groups_;
  std::vector<Sector> sectors_;
  uint64_t count_ = 0;
};

// Whether DataLoss must be seen: the flipped bit is in bytes that matter and are known to be durable.
bool MustBeReported(const Subject& subject, const Mutation& mutation);
// Whether the mutation may remove records of the newest log of a killed process together with all their witnesses.
bool MayLoseWitness(const Subject& subject, const Mutation& mutation);
// The ends of the manifest and of the log bear witness to each other: if one mutation damages both, the only promise is
// that the process does not crash.
bool MayLoseBothEnds(const Subject& subject, const Mutation& mutation);

// Every mutation of both subjects once, in an order that the search's seed chooses; or the one that it asks for.
using MutationCase = void (*)(const Subject& subject, const Mutation& mutation, const Changes& changed,
                              reliability::Search* search);
void ForEachMutation(reliability::Search* search, MutationCase body);

}  // namespace sepal::corruption
