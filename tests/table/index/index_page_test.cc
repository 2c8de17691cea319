#include "table/index/index_page.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "table/file/table_format.h"
#include "table/filter/filter.h"
#include "table/index/fence_search.h"
#include "tests/table/block/block_fixture.h"
#include "util/base/simd.h"

namespace sepal {
namespace {

constexpr uint64_t kFileSize = uint64_t{1} << 40;

bool IsValidPage(std::string_view bytes, KeyOrder order = {}, uint64_t file_size = kFileSize) {
  std::string why;
  const PaddedBytes padded(bytes);
  return IndexPageView::Validate(padded.view(), file_size, order, &why);
}

// A separator as the greatest internal key that it admits.
InternalKeyView LastAdmitted(const Separator& separator) {
  return {separator.user_key, separator.has_trailer ? separator.trailer : kLastTrailer};
}

uint32_t ExpectedFind(const std::vector<Separator>& separators, InternalKeyView key, KeyOrder order) {
  uint32_t i = 0;
  while (i < separators.size() && order.Less(LastAdmitted(separators[i]), key)) ++i;
  return i;
}

// Separators between the blocks that a run of entries would be cut into.
std::vector<Separator> RandomSeparators(Random& random, KeyShape shape, size_t count, KeyOrder order) {
  const auto entries = RandomEntries(random, shape, 2 * count, order);
  std::vector<Separator> separators;
  for (size_t i = 0; i + 1 < entries.size(); i += 2) {
    separators.push_back(ShortestSeparator(entries[i].key.view(), entries[i + 1].key.view(), order));
  }
  separators.push_back(ShortestSuccessor(entries.back().key.view(), order));
  return separators;
}

std::string BuildPage(const std::vector<Separator>& separators, KeyOrder order, uint64_t base = 0) {
  IndexPageBuilder builder(0, order, /*lane_probes=*/6);
  for (size_t i = 0; i < separators.size(); ++i) {
    const std::string lane(8 * (i % 4), static_cast<char>(i));
    builder.Add(separators[i], {base, 10 * i}, i + 1, i % 3 == 0 ? 1 : 0, lane);
    base += 10 * i + kUnitTrailerBytes;
  }
  return builder.Finish(0);
}

std::vector<KeyOrder> Orders() {
  static const BackwardComparator identical(true), loose(false);
  return {KeyOrder(), KeyOrder(&identical), KeyOrder(&loose)};
}

TEST(IndexPageTest, ALeafPageOfTwoBlocksIsTheseBytes) {
  IndexPageBuilder builder(0, KeyOrder(), /*lane_probes=*/3);
  builder.Add({"key1", false, 0}, {1000, 100}, 10, 1, std::string(8, 'L'));
  builder.Add({"key200000000z", true, 0x0102}, {1105, 50}, 5, 5, std::string(16, 'M'));
  EXPECT_EQ(builder.blocks(), 2u);
  EXPECT_EQ(builder.entries(), 15u);
  const std::string expected =
      Bytes({2, 0, 0, 0, 0, 1, 3, 0}) +                                                 // n, level, Bloom, probes
      Bytes({0xe8, 3, 0, 0, 0, 0, 0, 0}) + Bytes({15, 0, 0, 0, 0, 0, 0, 0}) +           // base offset, entries
      Bytes({3, 0, 0, 0}) + Bytes({10, 0, 0, 0}) +                                      // prefix, tails
      Bytes({128, 0, 0, 0}) + Bytes({24, 0, 0, 0}) + Bytes({7, 0, 0, 0, 0, 0, 0, 0}) +  // lanes, entries before
      std::string(16, '\0') +                                                           //
      Bytes({0, 0, 0, 0, 0, 0, 0, '1'}) + "0000000" + "2" +                             // fences "1", "20000000"
      Bytes({105, 0, 0, 0, 160, 0, 0, 0}) +                                             // block ends
      Bytes({0, 0, 0, 0, 10, 0, 0, 0}) +                                                // tail ends
      Bytes({1, 0, 3, 0}) + Bytes({1, 0x80 | 8}) + Bytes({26, 255}) +                   // lane ends, shapes, dead
      "key" + "0z" + Bytes({2, 1, 0, 0, 0, 0, 0, 0}) + std::string(128 - 117, '\0') +   // prefix, tails, padding
      std::string(8, 'L') + std::string(16, 'M');
  EXPECT_EQ(builder.Finish(7), expected);
}

TEST(IndexPageTest, ARootOfOneLeafPageIsTheseBytes) {
  IndexPageBuilder builder(1, KeyOrder(), {});
  builder.Add({"abc", false, 0}, {256, 59}, 70, 0, "");
  std::string expected = Bytes({1, 0, 0, 0, 1, 0, 0, 0}) + Bytes({0, 1, 0, 0, 0, 0, 0, 0, 70, 0, 0, 0, 0, 0, 0, 0}) +
                         Bytes({3, 0, 0, 0, 0, 0, 0, 0, 128, 0, 0, 0, 0, 0, 0, 0}) + std::string(24, '\0') +
                         std::string(8, '\0') +                           // the fence: all is prefix
                         Bytes({64, 0, 0, 0}) + Bytes({0, 0, 0, 0}) +     // block end, tail end
                         Bytes({0, 0}) + Bytes({0}) + Bytes({0}) + "abc"  // lane end, shape, dead, prefix
      ;
  expected.resize(128);
  EXPECT_EQ(builder.Finish(0), expected);
}

TEST(IndexPageTest, WhatWasAddedComesBack) {
  Random random(1);
  for (const KeyOrder order : Orders()) {
    for (const KeyShape shape : kAllShapes) {
      for (const size_t count : {1, 2, 9, 64}) {
        const auto separators = RandomSeparators(random, shape, shape == KeyShape::kLong ? 3 : count, order);
        const PaddedBytes page(BuildPage(separators, order, 777));
        std::string why;
        ASSERT_TRUE(IndexPageView::Validate(page.view(), kFileSize, order, &why)) << why;
        const IndexPageView view(page.view());
        ASSERT_EQ(view.count(), separators.size());
        uint64_t offset = 777, entries = 0;
        for (uint32_t i = 0; i < view.count(); ++i) {
          EXPECT_EQ(view.handle(i), (BlockHandle{offset, 10 * i}));
          offset += 10 * i + kUnitTrailerBytes;
          entries += i + 1;
          EXPECT_EQ(view.separator(i).user_key, separators[i].user_key);
          EXPECT_EQ(view.separator(i).has_trailer, separators[i].has_trailer);
          EXPECT_EQ(view.separator(i).trailer, separators[i].trailer);
          EXPECT_EQ(view.lane(i), std::string(8 * (i % 4), static_cast<char>(i)));
          EXPECT_EQ(view.dead(i), i % 3 == 0 ? (255 + i) / (i + 1) : 0);
        }
        EXPECT_EQ(view.begin_offset(), 777u);
        EXPECT_EQ(view.end_offset(), offset);
        EXPECT_EQ(view.entries(), entries);
        EXPECT_EQ(view.level(), 0);
      }
    }
  }
}

TEST(IndexPageTest, FindGivesTheFirstBlockWhoseSeparatorIsAtOrAfterTheKey) {
  Random random(2);
  for (const KeyOrder order : Orders()) {
    for (const KeyShape shape : kAllShapes) {
      for (const size_t count : {1, 2, 7, 8, 30, 64, 65, 300}) {
        const bool is_long = shape == KeyShape::kLong;
        const auto separators = RandomSeparators(random, shape, is_long ? 4 : count, order);
        const PaddedBytes page(BuildPage(separators, order));
        const IndexPageView view(page.view());
        const auto check = [&](InternalKeyView key) {
          const uint32_t found = ExpectedFind(separators, key, order);
          EXPECT_EQ(view.Find(key, order), found);
          EXPECT_TRUE(found == 0 || view.EndsBefore(found - 1, key, order));
          EXPECT_FALSE(found < view.count() && view.EndsBefore(found, key, order));
        };
        for (const Separator& separator : separators) {
          const std::string& key = separator.user_key;
          for (const Trailer trailer : {kFirstTrailer, separator.trailer + 1, separator.trailer, separator.trailer - 1,
                                        Trailer{5}, kLastTrailer}) {
            check({key, trailer});
          }
          check({key + '\0', kFirstTrailer});
          check({key + std::string(9, '\0'), kFirstTrailer});
          check({std::string_view(key).substr(0, key.size() - (key.empty() ? 0 : 1)), kLastTrailer});
          check({std::string_view(key).substr(0, key.size() / 2), kLastTrailer});
          check({RandomKey(random, shape), SeekTrailer(SequenceNumber(random.Uniform(100)))});
          if (order.bytewise() == false && random.OneIn(2)) break;  // quadratic and slow
        }
        check({"", kFirstTrailer});
        check({std::string(20, '\xff'), kLastTrailer});
      }
    }
  }
}

TEST(IndexPageTest, KeysThatDifferInTrailingZeroBytesOnlyAreToldApart) {
  std::vector<Separator> separators;
  for (size_t zeros = 0; zeros < 20; ++zeros) {
    separators.push_back({"ab" + std::string(zeros, '\0'), true, 0x501});
    separators.push_back({"ab" + std::string(zeros, '\0'), false, 0});
  }
  separators.push_back({"ac", false, 0});
  const PaddedBytes page(BuildPage(separators, {}));
  std::string why;
  ASSERT_TRUE(IndexPageView::Validate(page.view(), kFileSize, {}, &why)) << why;
  const IndexPageView view(page.view());
  for (uint32_t zeros = 0; zeros < 20; ++zeros) {
    const std::string key = "ab" + std::string(zeros, '\0');
    EXPECT_EQ(view.Find({key, SeekTrailer(SequenceNumber(5))}, {}), 2 * zeros);
    EXPECT_EQ(view.Find({key, 0x501}, {}), 2 * zeros);
    EXPECT_EQ(view.Find({key, 0x500}, {}), 2 * zeros + 1);
    EXPECT_EQ(view.Find({key, kLastTrailer}, {}), 2 * zeros + 1);
  }
  EXPECT_EQ(view.Find({"ab" + std::string(20, '\0'), kFirstTrailer}, {}), 40u);
  EXPECT_EQ(view.Find({"ac", kLastTrailer}, {}), 40u);
  EXPECT_EQ(view.Find({"ad", kFirstTrailer}, {}), 41u);
}

TEST(IndexPageTest, TheVersionsOfOneKeyInManyBlocksAreFound) {
  constexpr uint32_t kBlocks = 500;
  std::vector<Separator> separators = {{"a", false, 0}};
  for (uint32_t i = 0; i + 2 < kBlocks; ++i) {
    separators.push_back({"key", true, SeekTrailer(SequenceNumber(10 * (kBlocks - i)))});
  }
  separators.push_back({"z", false, 0});
  const PaddedBytes page(BuildPage(separators, {}));
  const IndexPageView view(page.view());
  for (uint64_t sequence = 0; sequence <= 10 * kBlocks + 5; ++sequence) {
    const InternalKeyView key{"key", SeekTrailer(SequenceNumber(sequence))};
    ASSERT_EQ(view.Find(key, {}), ExpectedFind(separators, key, {})) << sequence;
  }
  EXPECT_EQ(view.Find({"key", kFirstTrailer}, {}), 1u);
  EXPECT_EQ(view.Find({"kez", kFirstTrailer}, {}), kBlocks - 1);
}

TEST(IndexPageTest, AllFormsOfTheFenceSearchAgree) {
  Random random(3);
  for (uint32_t count = 0; count < 300; ++count) {
    std::vector<uint64_t> fences(count);
    for (uint64_t& fence : fences) fence = random.OneIn(3) ? random.Uniform(10) - 5 : random.Next();
    std::sort(fences.begin(), fences.end());
    std::vector<uint64_t> wanted = {0, 1, UINT64_MAX, uint64_t{1} << 63, random.Next()};
    for (const uint64_t fence : fences) wanted.insert(wanted.end(), {fence - 1, fence, fence + 1});
    for (const uint64_t fence : wanted) {
      const auto expected =
          static_cast<uint32_t>(std::lower_bound(fences.begin(), fences.end(), fence) - fences.begin());
      ASSERT_EQ(CountFencesLess(fences.data(), count, fence), expected);
      ASSERT_EQ(CountFencesLessPortable(fences.data(), count, fence), expected);
#if defined(__x86_64__)
      if (OfferedSimd() >= SimdLevel::kAvx2) {
        ASSERT_EQ(CountFencesLessAvx2(fences.data(), count, fence), expected);
      }
      if (OfferedSimd() >= SimdLevel::kAvx512) {
        ASSERT_EQ(CountFencesLessAvx512(fences.data(), count, fence), expected);
      }
#endif
    }
  }
}

TEST(IndexPageTest, TheLanesOfAPageAreAskedByBlock) {
  Random random(4);
  IndexPageBuilder builder(0, KeyOrder(), /*lane_probes=*/4);
  std::vector<std::vector<uint64_t>> hashes(20);
  uint64_t offset = 0;
  for (int b = 0; b < 20; ++b) {
    std::string lane(LaneBytes(30, b == 7 ? 0 : 6), '\0');
    hashes[static_cast<size_t>(b)].resize(30);
    for (uint64_t& hash : hashes[static_cast<size_t>(b)]) {
      hash = random.Next();
      if (!lane.empty()) LaneAdd(lane.data(), lane.size(), 4, hash);
    }
    builder.Add({std::string(1, static_cast<char>('a' + b)), false, 0}, {offset, 1}, 30, 0, lane);
    offset += 1 + kUnitTrailerBytes;
  }
  const PaddedBytes page(builder.Finish(0));
  const IndexPageView view(page.view());
  EXPECT_EQ(view.lane_probes(), 4);
  EXPECT_EQ(view.LaneBytes(), 19 * LaneBytes(30, 6));
  for (uint32_t b = 0; b < 20; ++b) {
    for (const uint64_t hash : hashes[b]) EXPECT_TRUE(view.LaneMayContain(b, hash));
    int passed = 0;
    for (int i = 0; i < 1000; ++i) passed += view.LaneMayContain(b, random.Next());
    if (b == 7) {
      EXPECT_EQ(passed, 1000);
    } else {
      EXPECT_LT(passed, 250);
    }
  }
}

TEST(IndexPageTest, LanesOfAnUnknownKindAndOddProbesAreRefused) {
  IndexPageBuilder builder(0, KeyOrder(), /*lane_probes=*/4);
  builder.Add({"a", false, 0}, {0, 100}, 30, 0, std::string(8, 'x'));
  const std::string page = builder.Finish(0);
  ASSERT_TRUE(IsValidPage(page));
  const auto with = [&](int kind, int probes) {
    std::string changed = page;
    changed[5] = static_cast<char>(kind);
    changed[6] = static_cast<char>(probes);
    return changed;
  };
  EXPECT_TRUE(IsValidPage(with(1, kMaxLaneProbes)));
  for (const int probes : {0, kMaxLaneProbes + 1, 255}) EXPECT_FALSE(IsValidPage(with(1, probes))) << probes;
  EXPECT_FALSE(IsValidPage(with(0, 0))) << "lanes of no kind";
  EXPECT_FALSE(IsValidPage(with(2, 1))) << "lanes of fingerprints";
}

TEST(IndexPageTest, ABuilderIsFullBeforeAFieldOverflows) {
  IndexPageBuilder builder(0, KeyOrder(), /*lane_probes=*/6);
  EXPECT_FALSE(builder.Full());
  uint64_t offset = 0;
  int blocks = 0;
  while (!builder.Full()) {  // blocks of the greatest size
    builder.Add({std::to_string(++blocks), false, 0}, {offset, kMaxUnitBytes}, 1, 0, "");
    offset += kMaxUnitBytes + kUnitTrailerBytes;
  }
  EXPECT_EQ(blocks, 3);
  const PaddedBytes page(builder.Finish(0));
  EXPECT_EQ(IndexPageView(page.view()).end_offset(), offset);
  builder.Reset();
  EXPECT_TRUE(builder.empty());
  for (blocks = 0, offset = 0; !builder.Full(); offset += 1 + kUnitTrailerBytes) {  // lanes of the greatest size
    builder.Add({std::string(1, static_cast<char>('a' + blocks++)), false, 0}, {offset, 1}, 1, 0,
                std::string(kMaxLaneBytes, 'L'));
  }
  EXPECT_GE(blocks, 4);
  EXPECT_TRUE(IsValidPage(builder.Finish(0)));
  EXPECT_GE(builder.MemoryBytes(), static_cast<size_t>(blocks) * kMaxLaneBytes);
}

TEST(IndexPageTest, PagesThatReachBeyondTheFileOrAreCutShortAreRefused) {
  Random random(5);
  const std::string page = BuildPage(RandomSeparators(random, KeyShape::kRandom, 10, {}), {}, 100);
  const uint64_t end = IndexPageView(PaddedBytes(page).view()).end_offset();
  EXPECT_TRUE(IsValidPage(page, {}, end));
  EXPECT_FALSE(IsValidPage(page, {}, end - 1));
  EXPECT_FALSE(IsValidPage(page, {}, 0));
  for (size_t size = 0; size < page.size(); ++size) EXPECT_FALSE(IsValidPage(page.substr(0, size)));
  EXPECT_FALSE(IsValidPage(page + std::string(64, '\0')));
}

TEST(IndexPageTest, SeparatorsOutOfOrderAreRefused) {
  const auto valid = [](std::vector<Separator> separators, KeyOrder order = {}) {
    return IsValidPage(BuildPage(separators, order), order);
  };
  EXPECT_TRUE(valid({{"a", false, 0}, {"b", false, 0}}));
  EXPECT_FALSE(valid({{"b", false, 0}, {"a", false, 0}}));
  EXPECT_FALSE(valid({{"a", false, 0}, {"a", false, 0}}));
  EXPECT_TRUE(valid({{"a", true, 9}, {"a", true, 8}, {"a", false, 0}}));
  EXPECT_FALSE(valid({{"a", true, 8}, {"a", true, 9}}));
  EXPECT_FALSE(valid({{"a", false, 0}, {"a", true, 9}}));
  EXPECT_FALSE(valid({{"a12345678y", false, 0}, {"a12345678x", false, 0}}));
  EXPECT_FALSE(valid({{"ba", false, 0}, {"ab", false, 0}}));
  const BackwardComparator backward(true);
  EXPECT_TRUE(valid({{"ba", false, 0}, {"ab", false, 0}}, KeyOrder(&backward)));
}

TEST(IndexPageTest, DamagedBytesAreRefusedOrReadWithinBounds) {
  Random random(6);
  for (const KeyOrder order : Orders()) {
    for (int round = 0; round < 3000; ++round) {
      const KeyShape shape = kAllShapes[random.Uniform(4)];
      std::string page = BuildPage(RandomSeparators(random, shape, 1 + random.Uniform(5), order), order);
      for (uint64_t edits = 1 + random.Uniform(3); edits > 0; --edits) {
        const size_t at = random.Uniform(random.OneIn(2) ? kIndexPageHeaderBytes : page.size());
        page[at] = random.OneIn(2) ? static_cast<char>(random.Next()) : static_cast<char>(page[at] + 1);
      }
      const PaddedBytes padded(page);
      std::string why;
      if (!IndexPageView::Validate(padded.view(), kFileSize, order, &why)) {
        EXPECT_FALSE(why.empty());
        continue;
      }
      const IndexPageView view(padded.view());
      IndexPageView::PrefetchFences(padded.view().data());
      view.PrefetchBlock(view.count() - 1);
      for (uint32_t i = 0; i < view.count(); ++i) {
        const Separator separator = view.separator(i);
        EXPECT_EQ(view.Find(LastAdmitted(separator), order), i);
        EXPECT_LE(view.handle(i).offset + view.handle(i).size, kFileSize);
        view.LaneMayContain(i, random.Next());
        view.dead(i);
      }
    }
  }
}

TEST(SeparatorTest, ASeparatorLiesAtOrAfterTheLastAndBeforeTheNext) {
  Random random(7);
  for (const KeyOrder order : Orders()) {
    for (const KeyShape shape : kAllShapes) {
      const auto entries = RandomEntries(random, shape, shape == KeyShape::kLong ? 20 : 800, order);
      for (size_t i = 0; i + 1 < entries.size(); ++i) {
        const InternalKeyView last = entries[i].key.view(), next = entries[i + 1].key.view();
        const Separator separator = ShortestSeparator(last, next, order);
        EXPECT_FALSE(order.Less(LastAdmitted(separator), last));
        EXPECT_TRUE(order.Less(LastAdmitted(separator), next));
        EXPECT_LE(separator.user_key.size(), last.user_key.size());
        EXPECT_EQ(separator.has_trailer, order.Equal(last.user_key, next.user_key));
      }
      const Separator successor = ShortestSuccessor(entries.back().key.view(), order);
      EXPECT_FALSE(order.Less(LastAdmitted(successor), entries.back().key.view()));
    }
  }
}

TEST(SeparatorTest, ASeparatorIsAsShortAsCanBe) {
  const auto between = [](std::string_view a, std::string_view b) {
    return ShortestSeparator({a, 0x101}, {b, 0x101}, {}).user_key;
  };
  EXPECT_EQ(between("", "a"), "");
  EXPECT_EQ(between("abcdef", "abzz"), "abd");
  EXPECT_EQ(between("abcdef", "abdz"), "abd");
  EXPECT_EQ(between("abcdef", "abd"), "abce");
  EXPECT_EQ(between("abc\xff\xff"
                    "a",
                    "abd"),
            "abc\xff\xff"
            "a");
  EXPECT_EQ(between("abc\xff"
                    "ab",
                    "abd"),
            "abc\xff"
            "b");
  EXPECT_EQ(between("abc", "abcd"), "abc");
  EXPECT_EQ(between("abc", "abd"), "abc");
  EXPECT_EQ(between("a\x7f"
                    "bc",
                    "a\x80"),
            "a\x7f"
            "c");
  // No shorter string lies between, over all short strings.
  std::vector<std::string> all = {""};
  for (size_t i = 0; i < all.size() && all[i].size() < 3; ++i) {
    for (const char c : {'\0', '\1', 'm', '\xfe', '\xff'}) all.push_back(all[i] + c);
  }
  std::sort(all.begin(), all.end());
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t j = i + 1; j < all.size(); ++j) {
      size_t shortest = all[i].size();
      for (size_t k = i; k < j; ++k) shortest = std::min(shortest, all[k].size());
      EXPECT_LE(between(all[i], all[j]).size(), shortest);
    }
  }
}

}  // namespace
}  // namespace sepal
