#include "util/thread/epoch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "util/thread/sync.h"

namespace sepal {
namespace {

// Runs `body` on a thread of its own that stays inside `domain` until it is told to leave.
class ReaderInside {
 public:
  explicit ReaderInside(EpochDomain* domain)
      : thread_([this, domain] {
          const EpochDomain::Guard guard(domain);
          entered_.Notify();
          leave_.WaitForNotification();
        }) {
    entered_.WaitForNotification();
  }
  ~ReaderInside() { Leave(); }
  void Leave() {
    if (!leave_.HasBeenNotified()) leave_.Notify();
    thread_.Join();
  }

 private:
  Notification entered_;
  Notification leave_;
  Thread thread_;
};

TEST(EpochTest, WithNobodyInsideARetiredObjectIsFreedAtOnce) {
  EpochDomain domain;
  int freed = 0;
  domain.Retire([&] { ++freed; });
  EXPECT_EQ(freed, 1);
  domain.Collect();
  EXPECT_EQ(freed, 1);
}

TEST(EpochTest, ARetiredObjectWaitsForTheReaderThatWasInside) {
  EpochDomain domain;
  ReaderInside reader(&domain);
  int freed = 0;
  domain.Retire([&] { ++freed; });
  domain.Collect();
  EXPECT_EQ(freed, 0);
  reader.Leave();
  domain.Collect();
  EXPECT_EQ(freed, 1);
}

TEST(EpochTest, AReaderThatEnteredAfterwardsDoesNotHoldTheObjectBack) {
  EpochDomain domain;
  std::vector<int> freed;
  ReaderInside first(&domain);
  domain.Retire([&] { freed.push_back(1); });
  ReaderInside second(&domain);
  domain.Retire([&] { freed.push_back(2); });
  EXPECT_TRUE(freed.empty());
  first.Leave();
  domain.Collect();
  EXPECT_EQ(freed, std::vector<int>{1});
  second.Leave();
  domain.Collect();
  EXPECT_EQ(freed, (std::vector<int>{1, 2}));
}

TEST(EpochTest, AnInnerGuardDoesNotEndTheOuterOne) {
  EpochDomain domain;
  int freed = 0;
  {
    const EpochDomain::Guard outer(&domain);
    { const EpochDomain::Guard inner(&domain); }
    domain.Retire([&] { ++freed; });
    EXPECT_EQ(freed, 0);
  }
  domain.Collect();
  EXPECT_EQ(freed, 1);
}

TEST(EpochTest, FreeingMayRetireAnotherObject) {
  EpochDomain domain;
  int freed = 0;
  domain.Retire([&] {
    ++freed;
    domain.Retire([&] { ++freed; });
  });
  EXPECT_EQ(freed, 2);
}

TEST(EpochTest, AReaderThatLeavesSaysThatItHeldSomethingBack) {
  EpochDomain domain;
  int said = 0;
  int freed = 0;
  domain.TellOfLeaving([&] {
    ++said;
    domain.Collect();
  });
  { const EpochDomain::Guard guard(&domain); }
  EXPECT_EQ(said, 0) << "nothing was retired";
  ReaderInside held_back(&domain);
  domain.Retire([&] { ++freed; });
  { const EpochDomain::Guard guard(&domain); }
  EXPECT_EQ(said, 0) << "that one came afterwards";
  held_back.Leave();
  EXPECT_EQ(said, 1);
  EXPECT_EQ(freed, 1);
  { const EpochDomain::Guard guard(&domain); }
  EXPECT_EQ(said, 1) << "nothing is left";
}

TEST(EpochTest, OnlyTheOutermostGuardOfAThreadSaysThatItLeaves) {
  EpochDomain domain;
  int freed = 0;
  domain.TellOfLeaving([&] { domain.Collect(); });
  {
    const EpochDomain::Guard outer(&domain);
    domain.Retire([&] { ++freed; });
    { const EpochDomain::Guard inner(&domain); }
    EXPECT_EQ(freed, 0);
  }
  EXPECT_EQ(freed, 1);
}

TEST(EpochTest, WhatIsBeingFreedIsRetiredUntilItIsFree) {
  EpochDomain domain;
  bool any = false;
  domain.Retire([&] { any = domain.AnyRetired(); });
  EXPECT_TRUE(any);
  EXPECT_FALSE(domain.AnyRetired());
}

TEST(EpochTest, WhatIsLeftIsFreedWithTheDomain) {
  int freed = 0;
  {
    EpochDomain domain;
    {
      const EpochDomain::Guard guard(&domain);
      domain.Retire([&] { ++freed; });
      domain.Retire([&] { ++freed; });
    }
    EXPECT_EQ(freed, 0);
  }
  EXPECT_EQ(freed, 2);
}

TEST(EpochTest, ThreadsWithoutASlotOfTheirOwnHoldObjectsBackToo) {
  EpochDomain domain;
  std::vector<std::unique_ptr<ReaderInside>> readers;
  for (uint32_t i = 0; i < kExclusiveThreadSlots + 2; ++i) readers.push_back(std::make_unique<ReaderInside>(&domain));
  int freed = 0;
  domain.Retire([&] { ++freed; });
  // The first to enter have slots of their own, the last share one.
  while (readers.size() > 1) {
    readers.erase(readers.begin());
    domain.Collect();
    ASSERT_EQ(freed, 0);
  }
  readers.clear();
  domain.Collect();
  EXPECT_EQ(freed, 1);
}

// Holds every slot that a thread can have of its own, so that threads made while it lives share one.
class NoSlotsLeft {
 public:
  NoSlotsLeft() {
    for (uint32_t i = 0; i < kExclusiveThreadSlots; ++i)
      holders_.push_back(std::make_unique<ReaderInside>(&unrelated_));
  }

 private:
  EpochDomain unrelated_;
  std::vector<std::unique_ptr<ReaderInside>> holders_;
};

// One of them is inside at any time.
TEST(EpochTest, ThreadsThatShareASlotHoldBackNoMoreThanWhatWasRetiredSinceTheOldestOfThemEntered) {
  const NoSlotsLeft no_slots_left;
  EpochDomain domain;
  auto reader = std::make_unique<ReaderInside>(&domain);
  int freed = 0;
  for (int i = 0; i < 10; ++i) {
    domain.Retire([&] { ++freed; });
    auto next = std::make_unique<ReaderInside>(&domain);
    domain.Collect();
    ASSERT_EQ(freed, i);
    reader = std::move(next);
    domain.Collect();
    ASSERT_EQ(freed, i + 1);
  }
}

TEST(EpochTest, ThreadsThatShareASlotMayLeaveInAnyOrder) {
  const NoSlotsLeft no_slots_left;
  EpochDomain domain;
  std::vector<int> freed;
  std::vector<std::unique_ptr<ReaderInside>> readers;
  for (int i = 0; i < 4; ++i) {
    readers.push_back(std::make_unique<ReaderInside>(&domain));
    domain.Retire([&freed, i] { freed.push_back(i); });
  }
  readers[1].reset();
  domain.Collect();
  EXPECT_TRUE(freed.empty());
  readers[0].reset();
  domain.Collect();
  EXPECT_EQ(freed, (std::vector<int>{0, 1}));
  readers[3].reset();
  domain.Collect();
  EXPECT_EQ(freed, (std::vector<int>{0, 1}));
  readers[2].reset();
  domain.Collect();
  EXPECT_EQ(freed, (std::vector<int>{0, 1, 2, 3}));
}

TEST(EpochTest, AReaderThatSharesASlotSaysThatItLeaves) {
  const NoSlotsLeft no_slots_left;
  EpochDomain domain;
  int freed = 0;
  domain.TellOfLeaving([&] { domain.Collect(); });
  ReaderInside reader(&domain);
  domain.Retire([&] { ++freed; });
  reader.Leave();
  EXPECT_EQ(freed, 1);
}

TEST(EpochTest, AnInnerGuardDoesNotEndTheOuterOneInASharedSlotEither) {
  const NoSlotsLeft no_slots_left;
  EpochDomain domain;
  Thread([&] {
    int freed = 0;
    {
      const EpochDomain::Guard outer(&domain);
      domain.Retire([&] { ++freed; });
      { const EpochDomain::Guard inner(&domain); }
      domain.Collect();
      EXPECT_EQ(freed, 0);
    }
    domain.Collect();
    EXPECT_EQ(freed, 1);
  }).Join();
}

// An object that is freed writes over its own value: a reader that meets this has met freed memory.
void ReadersAlwaysMeetALivingObject(int readers, int swaps) {
  struct Object {
    explicit Object(uint64_t v) : value(v), twin(~v) {}
    ~Object() { value = twin = 0; }
    uint64_t value;
    uint64_t twin;
  };
  EpochDomain domain;
  std::atomic<Object*> current{std::make_unique<Object>(0).release()};
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> bad{0};
  {
    std::vector<Thread> threads;
    for (int i = 0; i < readers; ++i) {
      threads.emplace_back([&] {
        uint64_t last = 0;
        while (!stop.load(std::memory_order_relaxed)) {
          const EpochDomain::Guard guard(&domain);
          const Object* object = current.load(std::memory_order_seq_cst);
          if (object->twin != ~object->value || object->value < last) bad.fetch_add(1);
          last = object->value;
        }
      });
    }
    for (int i = 1; i <= swaps; ++i) {
      Object* old = current.exchange(std::make_unique<Object>(static_cast<uint64_t>(i)).release());
      domain.Retire([old] { std::unique_ptr<Object>(old).reset(); });
    }
    stop.store(true);
  }
  EXPECT_EQ(bad.load(), 0u);
  std::unique_ptr<Object>(current.load()).reset();
}

TEST(EpochTest, ReadersBesideAWriterAlwaysMeetALivingObject) { ReadersAlwaysMeetALivingObject(3, 20000); }

TEST(EpochTest, ConcurrentReadersThatShareASlotAlwaysMeetALivingObject) {
  const NoSlotsLeft no_slots_left;
  ReadersAlwaysMeetALivingObject(3, 5000);
}

}  // namespace
}  // namespace sepal
