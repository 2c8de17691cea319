#include "table/block/block.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "table/block/block_cursor.h"
#include "table/block/tag_search.h"
#include "tests/table/block/block_fixture.h"
#include "util/memory/mapped_memory.h"

namespace sepal {
namespace {

bool IsValid(std::string_view bytes, KeyOrder order = {}) {
  std::string why;
  const PaddedBytes padded(bytes);
  return BlockView::Validate(padded.view(), order, &why);
}

// What Find must answer, by walking all entries.
BlockView::Hit ExpectedHit(const std::vector<BlockEntry>& entries, std::string_view key, SequenceNumber visible) {
  BlockView::Hit hit;
  for (const BlockEntry& entry : entries) {
    if (entry.key.user_key != key) continue;
    hit.key_present = true;
    if (hit.found || entry.key.view().sequence() > visible) continue;
    hit.found = true;
    hit.trailer = entry.key.trailer;
    hit.value = entry.value;
  }
  return hit;
}

void ExpectSameHit(const BlockView::Hit& actual, const BlockView::Hit& expected) {
  EXPECT_EQ(actual.found, expected.found);
  EXPECT_EQ(actual.key_present, expected.key_present);
  if (actual.found && expected.found) {
    EXPECT_EQ(actual.trailer, expected.trailer);
    EXPECT_EQ(actual.value, expected.value);
  }
}

struct Setting {
  bool tags;
  KeyOrder order;
};

std::vector<Setting> Settings() {
  static const BackwardComparator identical(true), loose(false);
  return {{true, KeyOrder()}, {false, KeyOrder()}, {true, KeyOrder(&identical)}, {false, KeyOrder(&loose)}};
}

size_t CountFor(KeyShape shape, Random& random) { return 1 + random.Uniform(shape == KeyShape::kLong ? 8 : 120); }

TEST(BlockTest, TwoPutsUnderOnePrefixAreTheseBytes) {
  BlockBuilder builder(true);
  const uint64_t hash1 = 1, hash2 = 2;
  builder.Add({"key1", PackTrailer(SequenceNumber(0x105), ValueKind::kPut)}, "A", hash1);
  builder.Add({"key23", PackTrailer(SequenceNumber(0x102), ValueKind::kPut)}, "", hash2);
  const std::string expected = std::string("A") +                                            // values
                               "1" + "23" +                                                  // keys
                               Bytes({3, 0}) +                                               // sequences, S = 1
                               Bytes({BlockTag(hash1), BlockTag(hash2)}) +                   // tags
                               Bytes({0, 0, 1, 0}) +                                         // value begins
                               Bytes({0, 0, 1, 0}) +                                         // key begins
                               "key" +                                                       // prefix
                               Bytes({2, 0, 0, 0, 1, 0, 0, 0, 0x02, 1, 0, 0, 0, 0, 0, 0}) +  // n, values, base
                               Bytes({3, 0, 0, 0, 3, 0, 0, 0}) +                             // keys, prefix length
                               Bytes({1 | 4, 1, 1, 0});                                      // flags, uniform kind, S
  EXPECT_EQ(builder.Finish(false), expected);
}

TEST(BlockTest, MixedKindsWithoutTagsInAContinuationAreTheseBytes) {
  BlockBuilder builder(false);
  builder.Add({"k", PackTrailer(SequenceNumber(0x30000), ValueKind::kSingleDelete)}, "xy", 0);
  builder.Add({"k", PackTrailer(SequenceNumber(0x1), ValueKind::kDelete)}, "", 0);
  const std::string expected = std::string("xy") +                // values; the keys are all prefix
                               Bytes({0xff, 0xff, 2, 0, 0, 0}) +  // sequences, S = 3
                               Bytes({2, 0}) +                    // kinds
                               Bytes({0, 0, 2, 0}) +              // value begins
                               "k" +                              // prefix
                               Bytes({2, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}) +
                               Bytes({0, 0, 0, 0, 1, 0, 0, 0, 2 | 16, 0, 3, 0});
  EXPECT_EQ(builder.Finish(true), expected);

  EXPECT_TRUE(BlockView(builder.Finish(true)).continuation());
}

TEST(BlockTest, ValueBeginsAreFourBytesWideOnlyPast64KiBOfValues) {
  for (const size_t value_size : {size_t{65535}, size_t{65536}}) {
    BlockBuilder builder(false);
    builder.Add({"a", PackTrailer(SequenceNumber(1), ValueKind::kPut)}, std::string(value_size, 'v'), 0);
    builder.Add({"ab", PackTrailer(SequenceNumber(1), ValueKind::kPut)}, "", 0);
    const bool wide = value_size == 65536;
    const std::string block(builder.Finish(false));
    EXPECT_EQ(block.size(), value_size + 1 + 2 * (wide ? 4 : 2) + 2 * 2 + 1 + kBlockHeaderBytes);
    EXPECT_EQ(block[block.size() - 4], wide ? 4 | 8 : 4);
    EXPECT_TRUE(IsValid(block));
    const PaddedBytes padded(block);
    EXPECT_EQ(BlockView(padded.view()).value(0).size(), value_size);
    EXPECT_EQ(BlockView(padded.view()).key_suffix(1), "b");
  }
}

TEST(BlockTest, KeyBeginsAreFourBytesWideOnlyPast64KiBOfKeys) {
  for (const size_t key_size : {size_t{65534}, size_t{65535}}) {
    BlockBuilder builder(false);
    builder.Add({std::string(key_size, 'a'), PackTrailer(SequenceNumber(1), ValueKind::kPut)}, "v", 0);
    builder.Add({"b", PackTrailer(SequenceNumber(1), ValueKind::kPut)}, "w", 0);
    const bool wide = key_size == 65535;
    const std::string block(builder.Finish(false));
    EXPECT_EQ(block.size(), 2 + key_size + 1 + 2 * 2 + 2 * (wide ? 4 : 2) + kBlockHeaderBytes);
    EXPECT_EQ(block[block.size() - 4], wide ? 4 | 32 : 4);
    EXPECT_TRUE(IsValid(block));
    const PaddedBytes padded(block);
    EXPECT_EQ(BlockView(padded.view()).key_suffix(0).size(), key_size);
    EXPECT_EQ(BlockView(padded.view()).value(1), "w");
  }
}

TEST(BlockTest, TagSearchAgreesWithItsPortableForm) {
  Random random(5);
  for (int round = 0; round < 1000; ++round) {
    const std::string tags = RandomBytes(random, 32, 4);
    for (int tag = 0; tag < 5; ++tag) {
      uint32_t expected = 0;
      for (size_t i = 0; i < 32; ++i) expected |= tags[i] == tag ? uint32_t{1} << i : 0;
      EXPECT_EQ(MatchTags(tags.data(), static_cast<uint8_t>(tag)), expected);
      EXPECT_EQ(MatchTagsPortable(tags.data(), static_cast<uint8_t>(tag)), expected);
    }
  }
}

TEST(BlockTest, EveryEntryComesBackAsItWasAdded) {
  Random random(1);
  for (const Setting& setting : Settings()) {
    for (const KeyShape shape : kAllShapes) {
      for (int round = 0; round < 12; ++round) {
        const auto entries = RandomEntries(random, shape, CountFor(shape, random), setting.order);
        const PaddedBytes block(BuildBlock(entries, setting.tags));
        std::string why;
        ASSERT_TRUE(BlockView::Validate(block.view(), setting.order, &why)) << why;
        const BlockView view(block.view());
        ASSERT_EQ(view.count(), entries.size());
        std::string buffer;
        for (uint32_t i = 0; i < view.count(); ++i) {
          EXPECT_EQ(view.user_key(i, &buffer), entries[i].key.user_key);
          EXPECT_EQ(view.trailer(i), entries[i].key.trailer);
          EXPECT_EQ(view.value(i), entries[i].value);
        }
      }
    }
  }
}

TEST(BlockTest, FindGivesTheNewestVisibleVersion) {
  Random random(2);
  for (const Setting& setting : Settings()) {
    for (const KeyShape shape : kAllShapes) {
      for (int round = 0; round < 8; ++round) {
        const auto entries = RandomEntries(random, shape, CountFor(shape, random), setting.order);
        const PaddedBytes block(BuildBlock(entries, setting.tags));
        const BlockView view(block.view());
        const auto check = [&](const std::string& key, SequenceNumber visible) {
          ExpectSameHit(view.Find(key, TestHash(key), visible, setting.order), ExpectedHit(entries, key, visible));
        };
        for (const BlockEntry& entry : entries) {
          const SequenceNumber sequence = entry.key.view().sequence();
          check(entry.key.user_key, sequence);
          check(entry.key.user_key, kMaxSequenceNumber);
          if (sequence.value() > 0) check(entry.key.user_key, SequenceNumber(sequence.value() - 1));
          check(entry.key.user_key + '\0', kMaxSequenceNumber);
          check(entry.key.user_key.substr(0, entry.key.user_key.size() / 2), kMaxSequenceNumber);
          check(RandomKey(random, shape), kMaxSequenceNumber);
        }
      }
    }
  }
}

TEST(BlockTest, FindSeesThroughVeryManyVersionsOfOneKey) {
  std::vector<BlockEntry> entries;
  for (uint64_t s = 2000; s > 0; --s) {
    entries.push_back({InternalKey("hot", PackTrailer(SequenceNumber(2 * s), ValueKind::kPut)), std::to_string(s)});
  }
  entries.push_back({InternalKey("hotter", PackTrailer(SequenceNumber(9), ValueKind::kPut)), "x"});
  for (const bool tags : {false, true}) {
    const PaddedBytes block(BuildBlock(entries, tags));
    const BlockView view(block.view());
    for (uint64_t visible = 0; visible <= 4005; ++visible) {
      ExpectSameHit(view.Find("hot", TestHash("hot"), SequenceNumber(visible), {}),
                    ExpectedHit(entries, "hot", SequenceNumber(visible)));
    }
  }
}

TEST(BlockTest, LowerBoundIsTheFirstEntryAtOrAfterTheTarget) {
  Random random(3);
  for (const Setting& setting : Settings()) {
    for (const KeyShape shape : kAllShapes) {
      for (int round = 0; round < 8; ++round) {
        const auto entries = RandomEntries(random, shape, CountFor(shape, random), setting.order);
        const PaddedBytes block(BuildBlock(entries, setting.tags));
        const BlockView view(block.view());
        const auto check = [&](InternalKeyView target) {
          uint32_t expected = 0;
          while (expected < entries.size() && setting.order.Less(entries[expected].key.view(), target)) ++expected;
          EXPECT_EQ(view.LowerBound(target, setting.order), expected);
        };
        for (const BlockEntry& entry : entries) {
          const std::string& key = entry.key.user_key;
          check(entry.key.view());
          check({key, entry.key.trailer + 1});
          check({key, kFirstTrailer});
          check({key, kLastTrailer});
          check({key + '\0', kFirstTrailer});
          check({std::string_view(key).substr(0, key.size() / 2), kFirstTrailer});
          const std::string other = RandomKey(random, shape);
          check({other, kFirstTrailer});
        }
        check({"", kFirstTrailer});
        check({"\xff\xff", kLastTrailer});
      }
    }
  }
}

TEST(BlockTest, TheCursorWalksBothWaysAndSeeks) {
  Random random(4);
  BlockCursor cursor;
  for (const Setting& setting : Settings()) {
    for (const KeyShape shape : kAllShapes) {
      const auto entries = RandomEntries(random, shape, CountFor(shape, random), setting.order);
      const PaddedBytes block(BuildBlock(entries, setting.tags));
      cursor.Attach(block.view(), setting.order);
      EXPECT_FALSE(cursor.Valid());
      const auto expect_at = [&](size_t i) {
        ASSERT_TRUE(cursor.Valid());
        EXPECT_EQ(cursor.key(), entries[i].key.view());
        EXPECT_EQ(cursor.value(), entries[i].value);
      };
      size_t i = 0;
      for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) expect_at(i++);
      EXPECT_EQ(i, entries.size());
      for (cursor.SeekToLast(); cursor.Valid(); cursor.Prev()) expect_at(--i);
      EXPECT_EQ(i, 0u);
      for (size_t at = 0; at < entries.size(); ++at) {
        cursor.Seek(entries[at].key.view());
        expect_at(at);
        cursor.SeekBefore(entries[at].key.view());
        if (at == 0) {
          EXPECT_FALSE(cursor.Valid());
        } else {
          expect_at(at - 1);
        }
      }
    }
  }
  cursor.Detach();
  EXPECT_FALSE(cursor.Valid());
}

struct PlainCase {
  std::string name;
  std::vector<BlockEntry> entries;
  bool plain;
};

BlockEntry PlainEntry(int number, size_t suffix_bytes, size_t value_bytes, uint64_t sequence = 0) {
  std::string suffix(suffix_bytes, static_cast<char>('a' + number));
  return {InternalKey("prefix" + suffix, PackTrailer(SequenceNumber(sequence), ValueKind::kPut)),
          std::string(value_bytes, static_cast<char>('A' + number))};
}

std::vector<PlainCase> PlainCases() {
  std::vector<PlainCase> cases = {{"one entry", {PlainEntry(1, 5, 3)}, true},
                                  {"one length", {}, true},
                                  {"of 32 bytes", {}, true},
                                  {"of 33 bytes", {}, false},
                                  {"two lengths", {}, false},
                                  {"two sequence numbers", {}, false},
                                  {"values of more than 64 KiB", {}, false},
                                  {"two kinds", {}, false},
                                  {"values of 65,535 bytes", {}, true},
                                  {"values of 65,536 bytes", {}, false}};
  for (int i = 0; i < 20; ++i) {
    const size_t value = static_cast<size_t>(i * 7 % 5);
    cases[1].entries.push_back(PlainEntry(i, 8, value, 77));
    cases[2].entries.push_back(PlainEntry(i, 32, value));
    cases[3].entries.push_back(PlainEntry(i, 33, value));
    cases[4].entries.push_back(PlainEntry(i, i == 7 ? 4 : 5, value));
    cases[5].entries.push_back(PlainEntry(i, 5, value, i == 3 ? 1 : 0));
    cases[6].entries.push_back(PlainEntry(i, 5, 4000));
    cases[7].entries.push_back(PlainEntry(i, 5, value));
  }
  for (size_t more : {0, 1}) {
    cases[8 + more].entries = {PlainEntry(0, 5, 60'000), PlainEntry(1, 5, 0), PlainEntry(2, 5, 5'535 + more)};
  }
  cases[7].entries[9].key.trailer = PackTrailer(SequenceNumber(0), ValueKind::kDelete);
  return cases;
}

// The steps that iterators take in a block, each beside what it must do: blocks of which a step is shorter are walked
// like all others, also in a part that was narrowed.
TEST(BlockTest, StepsInPlainBlocksLeadWhereThoseInOtherBlocksDo) {
  for (const PlainCase& each : PlainCases()) {
    SCOPED_TRACE(each.name);
    const PaddedBytes block(BuildBlock(each.entries, true));
    EXPECT_EQ(BlockView(block.view()).plain(), each.plain);
    BlockCursor cursor;
    const auto n = static_cast<uint32_t>(each.entries.size());
    const auto expect_at = [&](uint32_t i) {
      ASSERT_EQ(cursor.index(), i);
      EXPECT_EQ(cursor.key(), each.entries[i].key.view());
      EXPECT_EQ(cursor.value(), each.entries[i].value);
    };
    for (uint32_t begin = 0; begin < n; begin += 3) {
      for (uint32_t end = begin + 1; end <= n; end += 4) {
        cursor.Attach(block.view(), KeyOrder());
        cursor.Seek(each.entries[begin].key.view());
        cursor.Narrow(begin, end);
        uint32_t i = begin;
        for (bool by_key = true; by_key ? cursor.TryNextKey() : cursor.TryNext(); by_key = !by_key) expect_at(++i);
        EXPECT_EQ(i + 1, end);
        expect_at(i);
        while (cursor.TryPrev()) expect_at(--i);
        EXPECT_EQ(i, begin);
        while (cursor.TryNextPlain()) expect_at(++i);
        EXPECT_EQ(i + 1, each.plain ? end : begin + 1);
        // From no entry no step leads anywhere.
        cursor.SeekToLast();
        cursor.Next();
        EXPECT_FALSE(cursor.TryNextPlain());
        cursor.SeekToFirst();
        cursor.Prev();
        EXPECT_FALSE(cursor.TryNextPlain());
        cursor.Detach();
        EXPECT_FALSE(cursor.TryNextPlain());
      }
    }
  }
}

TEST(BlockTest, TheSizeEstimateIsTheSizeForShortKeysAndNeverLessForLongOnes) {
  Random random(6);
  for (const KeyShape shape : kAllShapes) {
    for (const bool tags : {false, true}) {
      for (int round = 0; round < 10; ++round) {
        const auto entries = RandomEntries(random, shape, CountFor(shape, random), {});
        BlockBuilder builder(tags);
        size_t longest = 0;
        for (const BlockEntry& entry : entries) {
          const size_t with = builder.SizeEstimateWith(entry.key.view(), entry.value);
          builder.Add(entry.key.view(), entry.value, 0);
          EXPECT_EQ(builder.SizeEstimate(), with);
          longest = std::max(longest, entry.key.user_key.size());
          const size_t size = builder.Finish(false).size();
          EXPECT_GE(with, size);
          EXPECT_LE(with, size + (longest < 128 ? 0 : 4 * builder.entries()));
        }
      }
    }
  }
}

TEST(BlockTest, AResetBuilderStartsAnew) {
  Random random(7);
  BlockBuilder builder(true);
  for (int round = 0; round < 20; ++round) {
    const KeyShape shape = kAllShapes[random.Uniform(std::size(kAllShapes))];
    const auto entries = RandomEntries(random, shape, CountFor(shape, random), {});
    builder.Reset();
    EXPECT_TRUE(builder.empty());
    size_t tombstones = 0;
    for (const BlockEntry& entry : entries) {
      builder.Add(entry.key.view(), entry.value, TestHash(entry.key.user_key));
      tombstones += IsTombstone(entry.key.view().kind());
    }
    EXPECT_EQ(builder.entries(), entries.size());
    EXPECT_EQ(builder.tombstones(), tombstones);
    EXPECT_EQ(builder.first_key(), entries.front().key.view());
    EXPECT_EQ(builder.last_key(), entries.back().key.view());
    EXPECT_EQ(builder.last_user_key(), entries.back().key.user_key);
    EXPECT_EQ(builder.Finish(false), BuildBlock(entries, true));
  }
}

TEST(BlockTest, EntriesOutOfOrderAreRefused) {
  const auto entry = [](const char* key, uint64_t sequence) {
    return BlockEntry{InternalKey(key, PackTrailer(SequenceNumber(sequence), ValueKind::kPut)), "v"};
  };
  EXPECT_TRUE(IsValid(BuildBlock({entry("a", 1), entry("b", 1)}, false)));
  EXPECT_FALSE(IsValid(BuildBlock({entry("b", 1), entry("a", 1)}, false)));
  EXPECT_FALSE(IsValid(BuildBlock({entry("a", 1), entry("a", 2)}, false)));
  EXPECT_FALSE(IsValid(BuildBlock({entry("a", 1), entry("a", 1)}, false)));
  const BackwardComparator backward(true);
  EXPECT_FALSE(IsValid(BuildBlock({entry("ab", 1), entry("ba", 1)}, false), KeyOrder(&backward)));
  EXPECT_TRUE(IsValid(BuildBlock({entry("ba", 1), entry("ab", 1)}, false), KeyOrder(&backward)));
}

// Of two entries with one trailer, as in a plain block, and of two with different ones.
TEST(BlockTest, TheFirstEntryBeginsAKeyOnlyWhereNothingNewerMayLieBefore) {
  for (const uint64_t sequence : {4, 5}) {
    const std::vector<BlockEntry> entries = {
        {InternalKey("b", PackTrailer(SequenceNumber(5), ValueKind::kPut)), "b"},
        {InternalKey("c", PackTrailer(SequenceNumber(sequence), ValueKind::kPut)), "c"}};
    for (const bool continuation : {false, true}) {
      const PaddedBytes block(BuildBlock(entries, true, continuation));
      for (const bool narrowed : {false, true}) {
        const bool begins = !continuation && !narrowed;
        BlockCursor cursor;
        cursor.Attach(block.view(), KeyOrder());
        cursor.SeekToLast();
        if (narrowed) cursor.Narrow(0, 2);  // what another source has next, going backward, sorts before all of it
        EXPECT_TRUE(cursor.BeginsKey());
        EXPECT_EQ(cursor.TryPrevKey(), begins);
        EXPECT_EQ(cursor.index(), begins ? 0u : 1u);
        if (!begins) {
          EXPECT_TRUE(cursor.TryPrev());
        }
        EXPECT_EQ(cursor.BeginsKey(), begins);
        EXPECT_FALSE(cursor.TryPrevKey());
        cursor.SeekToFirst();  // ends what was narrowed
        EXPECT_EQ(cursor.BeginsKey(), !continuation);
      }
    }
  }
}

TEST(BlockTest, EveryTruncationIsRefused) {
  Random random(8);
  const std::string block = BuildBlock(RandomEntries(random, KeyShape::kRandom, 20, {}), true);
  for (size_t size = 0; size < block.size(); ++size) EXPECT_FALSE(IsValid(block.substr(0, size))) << size;
}

// Reads all there is to read; a sanitizer tells whether it stayed in bounds.
void ReadEverything(std::string_view bytes, KeyOrder order) {
  const BlockView view(bytes);
  BlockCursor cursor;
  cursor.Attach(bytes, order);
  size_t sum = 0;
  for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) {
    const std::string key(cursor.key().user_key);
    for (const char c : cursor.value()) sum += static_cast<unsigned char>(c);
    view.Find(key, TestHash(key), cursor.key().sequence(), order);
    view.LowerBound(cursor.key(), order);
  }
  EXPECT_LE(sum, 255 * bytes.size());
}

TEST(BlockTest, DamagedBytesAreRefusedOrReadWithinBounds) {
  Random random(9);
  for (const Setting& setting : Settings()) {
    for (int round = 0; round < 3000; ++round) {
      const KeyShape shape = kAllShapes[random.Uniform(4)];
      std::string block = BuildBlock(RandomEntries(random, shape, 1 + random.Uniform(6), setting.order), setting.tags);
      for (uint64_t edits = 1 + random.Uniform(3); edits > 0; --edits) {
        const size_t from_end = 1 + random.Uniform(random.OneIn(2) ? kBlockHeaderBytes : block.size());
        const int kind = static_cast<int>(random.Uniform(3));
        char& byte = block[block.size() - from_end];
        byte = kind == 0 ? static_cast<char>(random.Next()) : kind == 1 ? static_cast<char>(byte + 1) : '\xff';
      }
      const PaddedBytes padded(block);
      std::string why;
      if (BlockView::Validate(padded.view(), setting.order, &why)) {
        ReadEverything(padded.view(), setting.order);
      } else {
        EXPECT_FALSE(why.empty());
      }
    }
  }
}

TEST(BlockTest, TagsOfABlockWhoseOrderIsNotHashableAreNotAsked) {
  // No writer of ours makes them.
  const BackwardComparator loose(false);
  const PaddedBytes block(BuildBlock({{InternalKey("a", PackTrailer(SequenceNumber(1), ValueKind::kPut)), "v"}}, true));
  const BlockView view(block.view());
  EXPECT_TRUE(view.Find("a", /*hash=*/~TestHash("a"), SequenceNumber(1), KeyOrder(&loose)).found);
  EXPECT_FALSE(view.Find("b", TestHash("b"), SequenceNumber(1), KeyOrder(&loose)).found);
}

TEST(BlockTest, ABlockBeyondFourGiBIsRefusedUnread) {
  const MappedMemory untouched(size_t{1} << 32);
  std::string why;
  EXPECT_FALSE(BlockView::Validate({untouched.data(), untouched.size()}, {}, &why));
}

TEST(BlockTest, PrefetchingFindsItsWayInBlocksOfEveryKind) {
  Random random(11);
  for (const Setting& setting : Settings()) {
    const auto entries = RandomEntries(random, KeyShape::kRandom, 100, setting.order);
    const PaddedBytes block(BuildBlock(entries, setting.tags));
    const BlockView view(block.view());
    for (const BlockEntry& entry : entries) view.PrefetchFind(TestHash(entry.key.user_key));
    for (uint64_t i = 0; i < 1000; ++i) view.PrefetchFind(random.Next());
    EXPECT_EQ(view.count(), entries.size());
  }
}

}  // namespace
}  // namespace sepal
