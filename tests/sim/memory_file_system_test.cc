// The crash model: what a process kill, a loss of power and a failed sync leave.
#include "sepal/simulation/memory_file_system.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "util/base/random.h"

namespace sepal {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr CrashMode kAllModes[] = {CrashMode::kKillProcess, CrashMode::kLoseUnsynced, CrashMode::kAnySubset};

class MemoryFileSystemTest : public testing::Test {
 protected:
  MemoryFileSystemTest() { Reopen(); }

  void Reopen() { directory_ = fs_.OpenDirectory("/db", true).value(); }
  void Crash(CrashMode mode, uint64_t seed = 1) {
    fs_.Crash(mode, seed);
    Reopen();
  }
  Directory& dir() { return *directory_; }
  std::unique_ptr<WritableFile> Create(std::string_view name) {
    return dir().OpenForWrite(name, WriteMode::kCreateNew).value();
  }
  std::unique_ptr<WritableFile> OpenAgain(std::string_view name) {
    return dir().OpenForWrite(name, WriteMode::kOpenExisting).value();
  }
  // A file whose bytes and name are durable.
  std::unique_ptr<WritableFile> CreateDurable(std::string_view name, std::string_view contents) {
    std::unique_ptr<WritableFile> file = Create(name);
    EXPECT_TRUE(file->Append(contents).ok());
    EXPECT_TRUE(file->Sync().ok());
    EXPECT_TRUE(dir().Sync().ok());
    return file;
  }
  std::string Contents(std::string_view name) { return fs_.ReadFileContents("/db/" + std::string(name)).value(); }
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    const std::vector<DirectoryEntry> entries = dir().List().value();
    for (const DirectoryEntry& entry : entries) names.push_back(entry.name);
    return names;
  }

  MemoryFileSystem fs_;
  std::unique_ptr<Directory> directory_;
};

TEST_F(MemoryFileSystemTest, WhatWasSyncedSurvivesEveryCrash) {
  for (const CrashMode mode : kAllModes) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      const std::string name = "f" + std::to_string(static_cast<int>(mode)) + "_" + std::to_string(seed);
      const std::string contents(3000, 'x');
      CreateDurable(name, contents);
      Crash(mode, seed);
      ASSERT_EQ(Contents(name), contents);
    }
  }
}

TEST_F(MemoryFileSystemTest, AKilledProcessLosesNothingItWrote) {
  CreateDurable("f", "synced ");
  ASSERT_TRUE(OpenAgain("f")->Append("written").ok());
  Create("new");
  Crash(CrashMode::kKillProcess);
  EXPECT_EQ(Contents("f"), "synced written");
  EXPECT_THAT(Names(), ElementsAre("f", "new"));
}

TEST_F(MemoryFileSystemTest, WhatAKilledProcessWroteIsStillUnsynced) {
  CreateDurable("f", "synced ");
  ASSERT_TRUE(OpenAgain("f")->Append("written").ok());
  Create("new");
  Crash(CrashMode::kKillProcess);
  Crash(CrashMode::kLoseUnsynced);
  EXPECT_EQ(Contents("f"), "synced ");
  EXPECT_THAT(Names(), ElementsAre("f"));
}

TEST_F(MemoryFileSystemTest, LosingTheUnsyncedLeavesExactlyTheLastSync) {
  std::unique_ptr<WritableFile> file = CreateDurable("f", std::string(2000, 'a'));
  ASSERT_TRUE(file->WriteAt(100, std::string(1000, 'b')).ok());
  ASSERT_TRUE(file->Truncate(700).ok());
  ASSERT_TRUE(file->Append(std::string(5000, 'c')).ok());
  Crash(CrashMode::kLoseUnsynced);
  EXPECT_EQ(Contents("f"), std::string(2000, 'a'));
}

TEST_F(MemoryFileSystemTest, LosingTheUnsyncedUndoesEveryChangeOfNames) {
  CreateDurable("kept", "1");
  CreateDurable("removed", "2");
  CreateDurable("renamed", "3");
  ASSERT_TRUE(dir().Remove("removed").ok());
  ASSERT_TRUE(dir().Rename("renamed", "new name").ok());
  ASSERT_TRUE(dir().Link("kept", dir(), "link").ok());
  Create("created");
  Crash(CrashMode::kLoseUnsynced);
  EXPECT_THAT(Names(), ElementsAre("kept", "removed", "renamed"));
  EXPECT_EQ(Contents("removed"), "2");
  EXPECT_EQ(Contents("renamed"), "3");
}

TEST_F(MemoryFileSystemTest, ASyncedFileWithAnUnsyncedNameIsLost) {
  std::unique_ptr<WritableFile> file = Create("f");
  ASSERT_TRUE(file->Append("x").ok());
  ASSERT_TRUE(file->Sync().ok());
  Crash(CrashMode::kLoseUnsynced);
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(MemoryFileSystemTest, ASyncedNameOfAnUnsyncedFileIsAnEmptyFile) {
  std::unique_ptr<WritableFile> file = Create("f");
  ASSERT_TRUE(file->Append("x").ok());
  ASSERT_TRUE(dir().Sync().ok());
  Crash(CrashMode::kLoseUnsynced);
  EXPECT_EQ(Contents("f"), "");
}

TEST_F(MemoryFileSystemTest, AnySubsetOfUnsyncedSectorsPersistsWholeOrNotAtAll) {
  constexpr size_t kSectors = 3;
  std::set<std::string> patterns;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const std::string name = "f" + std::to_string(seed);
    std::unique_ptr<WritableFile> file = CreateDurable(name, std::string(kSectors * 512, 'o'));
    ASSERT_TRUE(file->WriteAt(0, std::string(kSectors * 512, 'n')).ok());
    Crash(CrashMode::kAnySubset, seed);
    const std::string contents = Contents(name);
    ASSERT_EQ(contents.size(), kSectors * 512);
    std::string pattern;
    for (size_t i = 0; i < kSectors; ++i) {
      const std::string sector = contents.substr(i * 512, 512);
      ASSERT_TRUE(sector == std::string(512, 'o') || sector == std::string(512, 'n')) << "torn sector";
      pattern += sector[0];
    }
    patterns.insert(pattern);
  }
  EXPECT_EQ(patterns.size(), 8u) << "every subset is seen";
}

TEST_F(MemoryFileSystemTest, AnAppendAfterASyncNeverHarmsTheSyncedBytesOfTheSameSector) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const std::string name = "f" + std::to_string(seed);
    std::unique_ptr<WritableFile> file = CreateDurable(name, std::string(100, 's'));
    ASSERT_TRUE(file->Append(std::string(1000, 'u')).ok());
    Crash(CrashMode::kAnySubset, seed);
    ASSERT_EQ(Contents(name).substr(0, 100), std::string(100, 's'));
  }
}

TEST_F(MemoryFileSystemTest, AnUnsyncedEndIsAnyLengthOfOldNewZeroOrGarbageBytes) {
  std::set<size_t> sizes;
  bool zeros = false;
  bool garbage = false;
  bool written = false;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const std::string name = "f" + std::to_string(seed);
    std::unique_ptr<WritableFile> file = CreateDurable(name, std::string(512, 's'));
    ASSERT_TRUE(file->Append(std::string(2048, 'u')).ok());
    Crash(CrashMode::kAnySubset, seed);
    const std::string contents = Contents(name);
    ASSERT_GE(contents.size(), 512u);
    ASSERT_LE(contents.size(), 2560u);
    sizes.insert(contents.size());
    for (size_t begin = 512; begin + 512 <= contents.size(); begin += 512) {
      const std::string sector = contents.substr(begin, 512);
      if (sector == std::string(512, '\0')) {
        zeros = true;
      } else if (sector == std::string(512, 'u')) {
        written = true;
      } else {
        garbage = true;
      }
    }
  }
  EXPECT_TRUE(zeros && garbage && written);
  EXPECT_TRUE(sizes.contains(512) && sizes.contains(2560));
  EXPECT_GT(sizes.size(), 20u);
}

TEST_F(MemoryFileSystemTest, AnySubsetOfUnsyncedChangesOfNamesPersists) {
  std::set<std::string> outcomes;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    for (const std::string& name : Names()) ASSERT_TRUE(dir().Remove(name).ok());
    CreateDurable("removed", "");
    CreateDurable("from", "");
    ASSERT_TRUE(dir().Remove("removed").ok());
    ASSERT_TRUE(dir().Rename("from", "to").ok());
    Create("created");
    Crash(CrashMode::kAnySubset, seed);
    std::string outcome;
    for (const std::string& name : Names()) outcome += name + " ";
    outcomes.insert(outcome);
    const bool from = outcome.find("from") != std::string::npos;
    const bool to = outcome.find("to") != std::string::npos;
    ASSERT_NE(from, to) << "a rename is one change: " << outcome;
  }
  EXPECT_EQ(outcomes.size(), 8u) << "every subset is seen";
}

TEST_F(MemoryFileSystemTest, ARemovalThatIsUndoneBringsTheSyncedFileBackNotALaterOneOfItsName) {
  std::set<std::string> contents;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    for (const std::string& name : Names()) ASSERT_TRUE(dir().Remove(name).ok());
    CreateDurable("f", "old");
    ASSERT_TRUE(dir().Remove("f").ok());
    std::unique_ptr<WritableFile> file = Create("f");
    ASSERT_TRUE(file->Append("new").ok());
    ASSERT_TRUE(file->Sync().ok());
    Crash(CrashMode::kAnySubset, seed);
    contents.insert(Names().empty() ? "none" : Contents("f"));
  }
  EXPECT_THAT(contents, ElementsAre("new", "none", "old"));
}

TEST_F(MemoryFileSystemTest, TheOutcomeOfACrashDependsOnTheSeedAlone) {
  std::set<std::string> outcomes;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::string first;
    for (int round = 0; round < 2; ++round) {
      MemoryFileSystem fs;
      std::unique_ptr<Directory> directory = fs.OpenDirectory("/db", true).value();
      std::unique_ptr<WritableFile> file = directory->OpenForWrite("f", WriteMode::kCreateNew).value();
      ASSERT_TRUE(directory->Sync().ok());
      ASSERT_TRUE(file->Append(std::string(4000, 'x')).ok());
      fs.Crash(CrashMode::kAnySubset, seed);
      const std::string contents = fs.ReadFileContents("/db/f").value();
      if (round == 0) first = contents;
      ASSERT_EQ(contents, first);
    }
    outcomes.insert(first);
  }
  EXPECT_GT(outcomes.size(), 10u);
}

TEST_F(MemoryFileSystemTest, EveryHandleFromBeforeACrashIsDead) {
  for (const CrashMode mode : kAllModes) {
    std::unique_ptr<Directory> before = fs_.OpenDirectory("/db", true).value();
    const std::string name = "f" + std::to_string(static_cast<int>(mode));
    std::unique_ptr<WritableFile> writer = CreateDurable(name, std::string(4096, 'x'));
    std::unique_ptr<ReadableFile> reader = dir().OpenForRead(name).value();
    std::unique_ptr<MappedRegion> region = writer->Map(0, 4096).value();
    Crash(mode);
    char byte;
    EXPECT_FALSE(writer->Append("y").ok());
    EXPECT_FALSE(writer->WriteAt(0, "y").ok());
    EXPECT_FALSE(writer->Sync().ok());
    EXPECT_FALSE(writer->Truncate(0).ok());
    EXPECT_FALSE(writer->Close().ok());
    EXPECT_FALSE(reader->Read(0, 1, &byte).ok());
    EXPECT_FALSE(reader->Size().ok());
    EXPECT_FALSE(before->List().ok());
    EXPECT_FALSE(before->OpenForRead(name).ok());
    EXPECT_FALSE(before->Remove(name).ok());
    EXPECT_FALSE(before->Sync().ok());
    region->Store(0, "stored too late");
    EXPECT_EQ(Contents(name), std::string(4096, 'x'));
  }
}

TEST_F(MemoryFileSystemTest, ACrashReleasesEveryLock) {
  for (const CrashMode mode : kAllModes) {
    std::unique_ptr<DirectoryLock> lock = dir().Lock("LOCK").value();
    ASSERT_TRUE(dir().Sync().ok());
    Crash(mode);
    EXPECT_FALSE(lock->Check().ok());
    std::unique_ptr<DirectoryLock> next = dir().Lock("LOCK").value();
    lock.reset();
    EXPECT_TRUE(next->Check().ok());
    EXPECT_TRUE(absl::IsUnavailable(dir().Lock("LOCK").status())) << "the dead lock's end must not free the new one";
  }
}

TEST_F(MemoryFileSystemTest, StoresSurviveAKillAndAreUnsyncedSectorsToALossOfPower) {
  std::unique_ptr<WritableFile> file = CreateDurable("ring", std::string(4096, 'o'));
  file->Map(0, 4096).value()->Store(1000, "stored");
  Crash(CrashMode::kKillProcess);
  EXPECT_EQ(Contents("ring").substr(1000, 6), "stored");
  Crash(CrashMode::kLoseUnsynced);
  EXPECT_EQ(Contents("ring"), std::string(4096, 'o'));
}

TEST_F(MemoryFileSystemTest, ASyncOfTheFileMakesStoresDurable) {
  std::unique_ptr<WritableFile> file = CreateDurable("ring", std::string(4096, 'o'));
  std::unique_ptr<MappedRegion> region = file->Map(0, 4096).value();
  region->Store(0, "stored");
  ASSERT_TRUE(file->Sync().ok());
  Crash(CrashMode::kLoseUnsynced);
  EXPECT_EQ(Contents("ring").substr(0, 6), "stored");
}

TEST_F(MemoryFileSystemTest, WhatAFailedSyncCoveredIsReadableUntilPowerIsLostAndNoLaterSyncSavesIt) {
  for (const CrashMode mode : {CrashMode::kLoseUnsynced, CrashMode::kAnySubset}) {
    const std::string name = "f" + std::to_string(static_cast<int>(mode));
    std::unique_ptr<WritableFile> file = CreateDurable(name, std::string(1024, 'o'));
    ASSERT_TRUE(file->WriteAt(0, std::string(512, 'n')).ok());
    dynamic_cast<UnsyncedLoser&>(*file).LoseUnsynced();
    ASSERT_TRUE(file->WriteAt(512, std::string(512, 'n')).ok());
    EXPECT_EQ(Contents(name), std::string(1024, 'n'));
    ASSERT_TRUE(file->Sync().ok());
    Crash(CrashMode::kKillProcess);
    EXPECT_EQ(Contents(name), std::string(1024, 'n'));
    Crash(mode);
    EXPECT_EQ(Contents(name), std::string(512, 'o') + std::string(512, 'n'));
  }
}

TEST_F(MemoryFileSystemTest, BytesThatAreWrittenAgainAfterAFailedSyncCanBecomeDurable) {
  std::unique_ptr<WritableFile> file = CreateDurable("f", std::string(512, 'o'));
  ASSERT_TRUE(file->WriteAt(0, "first").ok());
  dynamic_cast<UnsyncedLoser&>(*file).LoseUnsynced();
  ASSERT_TRUE(file->WriteAt(0, "again").ok());
  ASSERT_TRUE(file->Sync().ok());
  Crash(CrashMode::kLoseUnsynced);
  EXPECT_EQ(Contents("f").substr(0, 5), "again");
}

TEST_F(MemoryFileSystemTest, NamesThatAFailedDirectorySyncCoveredAreNotSavedByALaterOne) {
  Create("lost");
  dynamic_cast<UnsyncedLoser&>(dir()).LoseUnsynced();
  Create("kept");
  ASSERT_TRUE(dir().Sync().ok());
  EXPECT_THAT(Names(), ElementsAre("kept", "lost"));
  Crash(CrashMode::kLoseUnsynced);
  EXPECT_THAT(Names(), ElementsAre("kept"));
}

TEST_F(MemoryFileSystemTest, LinksShareTheFileThroughACrash) {
  std::unique_ptr<WritableFile> file = CreateDurable("a", "12345");
  ASSERT_TRUE(dir().Link("a", dir(), "b").ok());
  ASSERT_TRUE(dir().Sync().ok());
  Crash(CrashMode::kAnySubset);
  ASSERT_TRUE(OpenAgain("a")->Append("6").ok());
  EXPECT_EQ(Contents("b"), "123456");
}

TEST_F(MemoryFileSystemTest, AFullDiskRefusesWritesAndTakesWhatFits) {
  fs_.SetCapacity(1000);
  std::unique_ptr<WritableFile> file = Create("f");
  ASSERT_TRUE(file->Append(std::string(600, 'x')).ok());
  EXPECT_EQ(dir().FreeBytes().value(), 400u);
  EXPECT_TRUE(absl::IsResourceExhausted(file->Append(std::string(500, 'y'))));
  EXPECT_EQ(Contents("f").size(), 1000u);
  EXPECT_TRUE(absl::IsResourceExhausted(file->Truncate(2000)));
  ASSERT_TRUE(file->WriteAt(0, std::string(1000, 'z')).ok()) << "overwriting takes no more space";
  ASSERT_TRUE(file->Truncate(100).ok());
  EXPECT_EQ(dir().FreeBytes().value(), 900u);
}

TEST_F(MemoryFileSystemTest, AllocatedSpaceCannotBeTakenByOthers) {
  fs_.SetCapacity(10'000);
  std::unique_ptr<WritableFile> reserved = Create("reserved");
  std::unique_ptr<WritableFile> other = Create("other");
  ASSERT_TRUE(reserved->Allocate(0, 6000).ok());
  EXPECT_EQ(dir().FreeBytes().value(), 4000u);
  EXPECT_TRUE(absl::IsResourceExhausted(other->Allocate(0, 5000)));
  EXPECT_TRUE(absl::IsResourceExhausted(other->Append(std::string(5000, 'x'))));
  EXPECT_TRUE(reserved->Append(std::string(6000, 'x')).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(reserved->Append("x")));
}

TEST_F(MemoryFileSystemTest, TruncateGivesBackWhatWasReservedBehind) {
  std::unique_ptr<WritableFile> file = Create("f");
  ASSERT_TRUE(file->Allocate(0, 6000).ok());
  ASSERT_TRUE(file->Append(std::string(600, 'x')).ok());
  EXPECT_EQ(fs_.UsedBytes(), 6000u);
  ASSERT_TRUE(file->Truncate(600).ok());
  EXPECT_EQ(fs_.UsedBytes(), 600u);
  EXPECT_EQ(Contents("f"), std::string(600, 'x'));
}

TEST_F(MemoryFileSystemTest, SpaceIsFreeOnceAFileHasNeitherNameNorHandle) {
  std::unique_ptr<WritableFile> file = Create("f");
  ASSERT_TRUE(file->Append(std::string(600, 'x')).ok());
  ASSERT_TRUE(dir().Link("f", dir(), "g").ok());
  EXPECT_EQ(fs_.UsedBytes(), 600u);
  ASSERT_TRUE(dir().Remove("f").ok());
  ASSERT_TRUE(dir().Remove("g").ok());
  EXPECT_EQ(fs_.UsedBytes(), 600u);
  file = nullptr;
  EXPECT_EQ(fs_.UsedBytes(), 0u);
}

TEST_F(MemoryFileSystemTest, ACrashCountsTheSpaceAnew) {
  std::unique_ptr<WritableFile> kept = CreateDurable("kept", std::string(600, 'x'));
  ASSERT_TRUE(kept->Append(std::string(100, 'y')).ok());
  std::unique_ptr<WritableFile> lost = Create("lost");
  ASSERT_TRUE(lost->Append(std::string(300, 'x')).ok());
  Crash(CrashMode::kLoseUnsynced);
  EXPECT_EQ(fs_.UsedBytes(), 600u);
  kept = nullptr;
  lost = nullptr;
  EXPECT_EQ(fs_.UsedBytes(), 600u);
  ASSERT_TRUE(dir().Remove("kept").ok());
  EXPECT_EQ(fs_.UsedBytes(), 0u);
}

TEST_F(MemoryFileSystemTest, WhatItCannotDoItSaysInItsCapabilities) {
  MemoryFileSystem plain{Capabilities{}};
  std::unique_ptr<Directory> directory = plain.OpenDirectory("/db", true).value();
  std::unique_ptr<WritableFile> file = directory->OpenForWrite("f", WriteMode::kCreateNew).value();
  ASSERT_TRUE(file->Truncate(4096).ok());
  EXPECT_TRUE(absl::IsUnimplemented(file->Map(0, 4096).status()));
  EXPECT_TRUE(absl::IsUnimplemented(directory->Link("f", *directory, "g")));
  EXPECT_TRUE(absl::IsUnimplemented(directory->OpenForRead("f", ReadMode::kDirect).status()));
  EXPECT_TRUE(file->Allocate(0, 1 << 20).ok());
  EXPECT_EQ(plain.UsedBytes(), 4096u);
}

TEST_F(MemoryFileSystemTest, AFlippedBitIsReadBackAndSurvivesAsTheDiskHasIt) {
  CreateDurable("f", std::string(100, '\0'));
  ASSERT_TRUE(fs_.FlipBit("/db/f", 42, 3).ok());
  EXPECT_EQ(Contents("f")[42], '\x08');
  Crash(CrashMode::kLoseUnsynced);
  EXPECT_EQ(Contents("f")[42], '\x08');
  EXPECT_TRUE(absl::IsNotFound(fs_.FlipBit("/db/no", 0, 0)));
  EXPECT_TRUE(absl::IsInvalidArgument(fs_.FlipBit("/db/f", 100, 0)));
}

TEST_F(MemoryFileSystemTest, PlantedContentsAreDurableAtOnceAndReplaceWhatWasThere) {
  CreateDurable("f", "a long old text");
  Create("unsynced");
  ASSERT_TRUE(fs_.WriteFileContents("/db/f", "new").ok());
  ASSERT_TRUE(fs_.WriteFileContents("/elsewhere/deep/g", "g").ok());
  Crash(CrashMode::kLoseUnsynced);
  EXPECT_EQ(Contents("f"), "new");
  EXPECT_EQ(fs_.ReadFileContents("/elsewhere/deep/g").value(), "g");
  EXPECT_THAT(Names(), ElementsAre("f"));
}

// Against a model that knows each byte's durable value and every value it had since.
TEST_F(MemoryFileSystemTest, ARandomHistoryCrashesIntoAStateThatTheModelAllows) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed);
    const std::string name = "f" + std::to_string(seed);
    std::unique_ptr<WritableFile> file = CreateDurable(name, "");
    std::string current;
    std::string durable;
    std::map<size_t, std::set<char>> values;
    for (int step = 0; step < 40; ++step) {
      const size_t offset = random.Uniform(4000);
      const std::string bytes(1 + random.Uniform(1500), static_cast<char>('a' + step % 26));
      if (random.OneIn(6)) {
        ASSERT_TRUE(file->Sync().ok());
        durable = current;
        values.clear();
      } else if (random.OneIn(6)) {
        current.resize(offset);
        ASSERT_TRUE(file->Truncate(offset).ok());
      } else {
        ASSERT_TRUE(file->WriteAt(offset, bytes).ok());
        current.resize(std::max(current.size(), offset + bytes.size()));
        current.replace(offset, bytes.size(), bytes);
      }
      for (size_t i = 0; i < current.size(); ++i) values[i].insert(current[i]);
    }
    const bool subset = random.OneIn(2);
    Crash(subset ? CrashMode::kAnySubset : CrashMode::kLoseUnsynced, seed);
    const std::string found = Contents(name);
    if (!subset) {
      ASSERT_EQ(found, durable) << seed;
      continue;
    }
    ASSERT_GE(found.size(), std::min(durable.size(), current.size()));
    ASSERT_LE(found.size(), std::max(durable.size(), current.size()));
    for (size_t i = 0; i < std::min(found.size(), durable.size()); ++i) {
      ASSERT_TRUE(found[i] == durable[i] || found[i] == '\0' || values[i].contains(found[i])) << seed << " at " << i;
    }
  }
}

TEST(MemoryFileSystemCloneTest, ACloneHasItsOwnDiskWithWhatIsUnsynced) {
  MemoryFileSystem memory;
  const std::unique_ptr<Directory> directory = *memory.OpenDirectory("/d", true);
  const std::unique_ptr<WritableFile> file = *directory->OpenForWrite("f", WriteMode::kCreateNew);
  ASSERT_TRUE(file->Append("durable").ok() && file->Sync().ok() && directory->Sync().ok());
  ASSERT_TRUE(file->Append(" and not").ok());
  MemoryFileSystem clone = memory.Clone();
  EXPECT_EQ(clone.Fingerprint(), memory.Fingerprint());
  EXPECT_EQ(clone.ReadFileContents("/d/f").value(), "durable and not");
  clone.Crash(CrashMode::kLoseUnsynced);
  EXPECT_EQ(clone.ReadFileContents("/d/f").value(), "durable");
  EXPECT_NE(clone.Fingerprint(), memory.Fingerprint());
  EXPECT_EQ(memory.ReadFileContents("/d/f").value(), "durable and not");
  EXPECT_TRUE(file->Sync().ok());
}

}  // namespace
}  // namespace sepal
