// Pages on a local disk that is full, loses power, fails and is damaged.
#include "file_cache/page_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "sepal/simulation/fault_file_system.h"
#include "sepal/simulation/memory_file_system.h"
#include "util/base/coding.h"
#include "util/base/random.h"
#include "util/thread/sync.h"

namespace sepal::file_cache {
namespace {

constexpr uint64_t kSmallCacheBytes = uint64_t{1} << 20;
constexpr uint64_t kSmallCacheSlots = 63;
const FileKey kKeyOfA = KeyOf("a");

std::string PageOf(uint64_t number, size_t bytes = kPageBytes) {
  Random random(number + 1);
  std::string page(bytes, '\0');
  for (size_t at = 0; at + 8 <= bytes; at += 8) EncodeFixed64(page.data() + at, random.Next());
  return page;
}

class PageStoreTest : public testing::Test {
 protected:
  void Open(uint64_t bytes = kSmallCacheBytes) {
    store_.reset();
    absl::StatusOr<std::unique_ptr<PageStore>> opened =
        PageStore::Open({.directory = "/cache", .bytes = bytes, .file_system = faults_.get()});
    ASSERT_TRUE(opened.ok()) << opened.status();
    store_ = *std::move(opened);
  }
  // Page `number` of a file that has a million of them.
  static PageName Name(uint64_t number) { return NameOf(kKeyOfA, number, kPageBytes * uint64_t{1'000'000}); }
  void Put(uint64_t number) { store_->Put(Name(number), PageOf(number)); }
  // What a read of the page gets; none if it is a miss.
  std::optional<std::string> Get(const PageName& name) {
    const std::optional<PageStore::Place> place = store_->Find(name);
    if (!place.has_value()) return std::nullopt;
    std::string bytes(name.length, '\0');
    ReadRequest request = store_->RequestFor(*place, name, bytes.data());
    store_->ReadMany({&request, 1});
    bytes.resize(request.bytes_read);
    if (!store_->Verify(*place, name, bytes)) return std::nullopt;
    return bytes;
  }
  bool Has(uint64_t number) {
    const std::optional<std::string> bytes = Get(Name(number));
    EXPECT_TRUE(!bytes.has_value() || *bytes == PageOf(number)) << number;
    return bytes.has_value();
  }
  uint64_t CountOf(uint64_t pages) {
    uint64_t count = 0;
    for (uint64_t i = 0; i < pages; ++i) count += Has(i) ? 1 : 0;
    return count;
  }
  std::string Contents(const std::string& name) { return local_->ReadFileContents("/cache/" + name).value(); }

  void Renew() {
    store_.reset();
    faults_.reset();
    local_ = std::make_unique<MemoryFileSystem>();
    faults_ = std::make_unique<FaultFileSystem>(local_.get());
  }

  std::unique_ptr<MemoryFileSystem> local_ = std::make_unique<MemoryFileSystem>();
  std::unique_ptr<FaultFileSystem> faults_ = std::make_unique<FaultFileSystem>(local_.get());
  std::unique_ptr<PageStore> store_;
};

TEST_F(PageStoreTest, TheIndexIsTheseBytes) {
  Open();
  store_->Put(NameOf(kKeyOfA, 7, 7 * kPageBytes + 5), "bytes");
  std::string hex;
  for (const char c : Contents(kIndexName)) hex += absl::StrFormat("%02x", static_cast<unsigned char>(c));
  EXPECT_EQ(hex,
            "706c73636163686501000000004000009f61fb1af2846d11"
            "c9d908f92ec73fce268a681c9fc347de");
  EXPECT_EQ(Contents(kPagesName), "bytes");
}

TEST_F(PageStoreTest, PagesAreFoundAgainAfterARestart) {
  Open();
  for (uint64_t i = 0; i < 10; ++i) Put(i);
  store_->Put(NameOf(kKeyOfA, 3, 3 * kPageBytes + 100), PageOf(99, 100));
  Open();
  EXPECT_EQ(CountOf(20), 10u);
  EXPECT_EQ(Get(NameOf(kKeyOfA, 3, 3 * kPageBytes + 100)), PageOf(99, 100));
  EXPECT_EQ(store_->Counts().bytes, 11 * kPageBytes);
  EXPECT_EQ(store_->Counts().damaged, 0u);
}

TEST_F(PageStoreTest, APageOfAnotherFileOrPlaceOrLengthIsAMiss) {
  Open();
  Put(1);
  EXPECT_FALSE(Get(Name(2)).has_value());
  EXPECT_FALSE(Get(NameOf(KeyOf("b"), 1, kPageBytes * uint64_t{1'000'000})).has_value());
  EXPECT_FALSE(Get(NameOf(kKeyOfA, 1, kPageBytes + 100)).has_value());
  EXPECT_TRUE(Has(1));
}

TEST_F(PageStoreTest, ItNeverTakesMoreThanItMayAndThePagesThatAreUsedStay) {
  Open();
  EXPECT_EQ(store_->Counts().capacity_bytes, kSmallCacheSlots * kPageBytes);
  for (uint64_t i = 0; i < 400; ++i) {
    Put(i);
    for (uint64_t used = 0; used < 5; ++used) EXPECT_EQ(Has(used), used <= i) << i << " " << used;
    ASSERT_LE(local_->UsedBytes(), kSmallCacheBytes);
  }
  EXPECT_EQ(CountOf(400), kSmallCacheSlots);
  EXPECT_EQ(store_->Counts().evictions, 400 - kSmallCacheSlots);
}

TEST_F(PageStoreTest, ItGrowsAndShrinksWithItsLimit) {
  Open();
  for (uint64_t i = 0; i < kSmallCacheSlots; ++i) Put(i);
  Open(2 * kSmallCacheBytes);
  EXPECT_EQ(CountOf(200), kSmallCacheSlots);
  for (uint64_t i = 0; i < 120; ++i) Put(i);
  EXPECT_EQ(CountOf(200), 120u);
  Open();
  EXPECT_EQ(CountOf(200), kSmallCacheSlots);
  EXPECT_LE(local_->UsedBytes(), kSmallCacheBytes);
}

TEST_F(PageStoreTest, AnIndexOfAnotherVersionOrWithADamagedHeaderIsMadeAnew) {
  Open();
  for (uint64_t byte = 0; byte < kHeaderBytes; ++byte) {
    Put(1);
    store_.reset();
    ASSERT_TRUE(local_->FlipBit("/cache/index", byte, 3).ok());
    Open();
    EXPECT_FALSE(Has(1)) << byte;
  }
}

TEST_F(PageStoreTest, AFlippedBitInAnyByteOfAPageIsAMiss) {
  Open();
  const PageName small = NameOf(kKeyOfA, 5, 5 * kPageBytes + 2000);
  const PageName whole = Name(5);
  uint64_t damaged = 0;
  for (const auto& [name, step] : {std::pair(small, 1), std::pair(whole, 97)}) {
    const std::string page = PageOf(5, name.length);
    for (uint64_t byte = 0; byte < name.length; byte += static_cast<uint64_t>(step)) {
      store_->Put(name, page);
      ASSERT_EQ(Get(name), page) << byte;
      ASSERT_TRUE(local_->FlipBit("/cache/pages", byte, static_cast<int>(byte % 8)).ok());
      ASSERT_EQ(Get(name), std::nullopt) << byte;
      ++damaged;
    }
  }
  EXPECT_EQ(store_->Counts().damaged, damaged);
}

TEST_F(PageStoreTest, AFlippedBitInAnEntryIsAMiss) {
  for (uint64_t bit = 0; bit < kEntryBytes * 8; ++bit) {
    Renew();
    Open();
    Put(1);
    store_.reset();
    ASSERT_TRUE(local_->FlipBit("/cache/index", kHeaderBytes + bit / 8, static_cast<int>(bit % 8)).ok());
    Open();
    EXPECT_FALSE(Has(1)) << bit;
  }
}

TEST_F(PageStoreTest, ALossOfPowerAtAnyTimeLeavesRightPagesOrMisses) {
  uint64_t kept = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Renew();
    Random random(seed);
    for (int round = 0; round < 4; ++round) {
      Open();
      kept += CountOf(100);
      for (uint64_t i = 0; i < 1 + random.Uniform(80); ++i) Put(random.Uniform(100));
      if (random.OneIn(4)) {
        EXPECT_TRUE(store_->Sync().ok());
      }
      local_->Crash(CrashMode::kAnySubset, seed * 10 + static_cast<uint64_t>(round));
    }
  }
  EXPECT_GT(kept, 0u);
}

TEST_F(PageStoreTest, AFullDiskHoldsWhatFitsAndIsUsedAgainAfterwards) {
  Open();
  local_->SetCapacity(10 * kPageBytes);
  for (uint64_t i = 0; i < 100; ++i) Put(i);
  EXPECT_GE(CountOf(100), 8u);
  EXPECT_GT(store_->Counts().failed_writes, 0u);
  EXPECT_LE(store_->Counts().failed_writes, 3u);
  EXPECT_TRUE(absl::IsResourceExhausted(store_->failure()));
  local_->SetCapacity(UINT64_MAX / 2);
  for (uint64_t i = 0; i < 1000; ++i) Put(i);
  EXPECT_GE(store_->Counts().bytes, (kSmallCacheSlots - 3) * kPageBytes);
  Open();
  for (uint64_t i = 0; i < 100; ++i) Put(i);
  EXPECT_EQ(CountOf(100), kSmallCacheSlots);
}

// A disk that writes over what it has only where there is room: sparse files, snapshots of the file system, quotas.
TEST_F(PageStoreTest, SlotsForWhichThereWasNoRoomComeBack) {
  Open();
  for (uint64_t i = 0; i < kSmallCacheSlots; ++i) Put(i);
  bool full = true;
  faults_->SetDecider([&full](const FileCall& call) {
    const bool page = call.op == FileOp::kWriteAt && call.name.ends_with(kPagesName);
    return full && page ? Fault::kNoSpace : Fault::kNone;
  });
  for (uint64_t i = 100; i < 300; ++i) Put(i);
  EXPECT_EQ(store_->Counts().bytes, 0u);
  EXPECT_LE(store_->Counts().failed_writes, kSmallCacheSlots + 2);
  full = false;
  for (uint64_t i = 1000; i < 2000; ++i) Put(i);
  EXPECT_EQ(store_->Counts().bytes, kSmallCacheSlots * kPageBytes);
  faults_->Clear();
}

TEST_F(PageStoreTest, ForgettingThatIsNotWrittenIsAnError) {
  Open();
  Put(1);
  faults_->Inject({.fault = Fault::kIoError, .sticky = true});
  EXPECT_FALSE(store_->Forget(kKeyOfA, 20 * kPageBytes).ok());
  faults_->Clear();
  EXPECT_FALSE(Has(1));
}

TEST_F(PageStoreTest, NoCallThatFailsGivesAWrongPage) {
  for (const Fault fault : {Fault::kIoError, Fault::kShortWrite, Fault::kFailAfter, Fault::kNoSpace}) {
    for (const bool sticky : {false, true}) {
      for (uint64_t skip = 0; skip < 150; ++skip) {
        Renew();
        Open();
        faults_->Inject({.fault = fault, .skip = skip, .sticky = sticky});
        for (uint64_t i = 0; i < 40; ++i) {
          Put(i);
          Has(i / 2);
        }
        store_->Forget(kKeyOfA, 20 * kPageBytes).IgnoreError();
        faults_->Clear();
        Open();
        CountOf(40);
        const bool disk_is_not_full = fault == Fault::kIoError || fault == Fault::kFailAfter;
        if (!sticky && disk_is_not_full) {
          EXPECT_GT(store_->Counts().bytes, 0u);
        }
      }
    }
  }
}

TEST_F(PageStoreTest, WhatIsStagedIsFoundOnceItIsPublishedAndLeavesRoomForOthers) {
  Open();
  std::vector<PageStore::Staged> staged;
  for (uint64_t i = 0; i < 100; ++i) {
    if (const auto page = store_->Stage(Name(i), PageOf(i)); page.has_value()) staged.push_back(*page);
  }
  EXPECT_EQ(staged.size(), kSmallCacheSlots / 2);
  EXPECT_EQ(CountOf(100), 0u);
  for (size_t i = 0; i < 5; ++i) store_->Publish(staged[i]);
  for (size_t i = 5; i < staged.size(); ++i) store_->Abandon(staged[i]);
  EXPECT_EQ(CountOf(100), 5u);
  Open();
  EXPECT_EQ(CountOf(100), 5u);
}

TEST_F(PageStoreTest, APageThatTwoStageIsKeptOnce) {
  Open();
  const PageStore::Staged first = store_->Stage(Name(1), PageOf(1)).value();
  const PageStore::Staged second = store_->Stage(Name(1), PageOf(1)).value();
  store_->Publish(first);
  store_->Publish(second);
  EXPECT_TRUE(Has(1));
  EXPECT_EQ(store_->Counts().bytes, kPageBytes);
  EXPECT_FALSE(store_->Stage(Name(1), PageOf(1)).has_value());
}

TEST_F(PageStoreTest, WhatIsForgottenStaysSoAfterARestartAndALossOfPower) {
  Open();
  for (uint64_t i = 0; i < 10; ++i) Put(i);
  store_->Put(NameOf(KeyOf("b"), 1, 2 * kPageBytes), PageOf(1));
  ASSERT_TRUE(store_->Forget(kKeyOfA, kPageBytes * uint64_t{1'000'000}).ok());
  EXPECT_EQ(CountOf(10), 0u);
  ASSERT_TRUE(store_->Sync().ok());
  ASSERT_TRUE(local_->OpenDirectory("/cache", false).value()->Sync().ok());
  local_->Crash(CrashMode::kLoseUnsynced);
  Open();
  EXPECT_EQ(CountOf(10), 0u);
  EXPECT_EQ(store_->Counts().bytes, kPageBytes);
}

TEST_F(PageStoreTest, ThreadsThatReadBesideThoseThatFillGetRightPages) {
  Open();
  std::atomic<uint64_t> hits{0};
  {
    std::vector<Thread> threads;
    for (uint64_t thread = 0; thread < 4; ++thread) {
      threads.emplace_back([this, thread, &hits] {
        Random random(thread);
        for (int i = 0; i < 2000; ++i) {
          const uint64_t number = random.Uniform(120);
          if (Has(number)) {
            hits.fetch_add(1);
          } else if (random.OneIn(50)) {
            EXPECT_TRUE(store_->Forget(kKeyOfA, 10 * kPageBytes).ok());
          } else {
            Put(number);
          }
        }
      });
    }
  }
  EXPECT_GT(hits.load(), 0u);
  EXPECT_EQ(store_->Counts().damaged, 0u);
  Open();
  CountOf(120);
}

}  // namespace
}  // namespace sepal::file_cache
