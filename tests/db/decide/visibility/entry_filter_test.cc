// Which epoch a reader has, which are forgotten, and what flushes and compactions make of what a filter refuses.
#include "db/decide/visibility/entry_filter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "db/decide/visibility/retention.h"
#include "db/format/expiring_value.h"
#include "tests/db/decide/visibility/key_versions.h"
#include "tests/db/engine/first_letter_filter.h"

namespace sepal {
namespace {

using Epochs = std::vector<FilterEpoch>;

const std::shared_ptr<const PureFilter> kFirstLetter = std::make_shared<FirstLetterFilter>();

FilterEpochsRef RefTo(const Epochs& epochs) { return std::make_shared<const FilterEpochs>(epochs); }

std::string EpochTextAt(const Epochs& epochs, uint64_t visible) {
  const FilterEpoch* const at = EpochAt(epochs, SequenceNumber(visible));
  return at == nullptr ? "none" : at->epoch;
}

std::string TextOf(const Epochs& epochs) {
  std::string text;
  for (const FilterEpoch& epoch : epochs) {
    text += (text.empty() ? "" : " ") + std::to_string(epoch.sequence.value()) + ":" + epoch.epoch;
  }
  return text;
}

// As SeenAt of key_versions.h, with the filter's word on it.
std::optional<std::string> SeenFiltered(const KeyEntries& versions, uint64_t visible, const Epochs& epochs) {
  const auto newest = std::find_if(versions.begin(), versions.end(), [&](const KeyEntry& v) {
    return TrailerSequence(v.trailer) <= SequenceNumber(visible);
  });
  if (newest == versions.end() || MeaningOf(newest->trailer) == Meaning::kAbsent) return std::nullopt;
  const FilterEpoch* const at = EpochAt(epochs, SequenceNumber(visible));
  if (at != nullptr && !kFirstLetter->Keep("k", newest->payload, at->epoch)) return std::nullopt;
  return newest->payload;
}

struct Job {
  std::vector<SequenceNumber> snapshots;
  bool bottommost = false;
  uint64_t expired_through_millis = 0;
};

KeyEntries KeptByFilter(const KeyEntries& in, const Job& job, const Epochs& epochs,
                        SequenceNumber* filtered_through = nullptr, RetentionCounts* counts = nullptr) {
  const StripeFilter filter(kFirstLetter, RefTo(epochs), job.snapshots);
  Retention retention({.snapshots = job.snapshots,
                       .bottommost = job.bottommost,
                       .expired_through_millis = job.expired_through_millis,
                       .filter = &filter});
  KeyEntries out;
  const auto emit = [&](const InternalKeyView& key, std::string_view value, bool) {
    out.push_back({key.trailer, std::string(value)});
    return absl::OkStatus();
  };
  for (const KeyEntry& v : in) EXPECT_TRUE(retention.Add({"k", v.trailer}, v.payload, emit).ok());
  EXPECT_TRUE(retention.Finish(emit).ok());
  EXPECT_EQ(retention.counts().entries_in, in.size());
  EXPECT_EQ(retention.counts().entries_out, out.size());
  if (filtered_through != nullptr) *filtered_through = retention.FilteredThrough();
  if (counts != nullptr) *counts = retention.counts();
  return out;
}

std::string ShownVersions(const KeyEntries& versions) {
  std::string text;
  for (const KeyEntry& v : versions) {
    text += (text.empty() ? "" : " ") + std::to_string(TrailerSequence(v.trailer).value()) + ":" +
            std::string(Name(TrailerKind(v.trailer)));
    if (!v.payload.empty()) text += "=" + v.payload;
  }
  return text;
}

KeyEntry PutAt(uint64_t sequence, std::string value) { return VersionOf(sequence, ValueKind::kPut, std::move(value)); }

std::vector<SequenceNumber> At(std::initializer_list<uint64_t> sequences) {
  std::vector<SequenceNumber> at;
  for (const uint64_t sequence : sequences) at.emplace_back(sequence);
  return at;
}

TEST(EntryFilterTest, AReaderHasTheNewestEpochAtOrBelowItsNumber) {
  const Epochs epochs = {{SequenceNumber(3), "a"}, {SequenceNumber(7), "ab"}};
  EXPECT_EQ(EpochTextAt({}, 9), "none");
  EXPECT_EQ(EpochTextAt(epochs, 2), "none");
  EXPECT_EQ(EpochTextAt(epochs, 3), "a");
  EXPECT_EQ(EpochTextAt(epochs, 6), "a");
  EXPECT_EQ(EpochTextAt(epochs, 7), "ab");
}

TEST(EntryFilterTest, EpochsAreForgottenThatNoReaderNeeds) {
  const Epochs epochs = {{SequenceNumber(3), "a"}, {SequenceNumber(7), "ab"}};
  const FilterEpoch added{SequenceNumber(9), "abc"};
  EXPECT_EQ(TextOf(WithEpoch({}, SequenceNumber(0), added)), "9:abc");
  EXPECT_EQ(TextOf(WithEpoch(epochs, SequenceNumber(2), added)), "3:a 7:ab 9:abc");
  EXPECT_EQ(TextOf(WithEpoch(epochs, SequenceNumber(6), added)), "3:a 7:ab 9:abc");
  EXPECT_EQ(TextOf(WithEpoch(epochs, SequenceNumber(7), added)), "7:ab 9:abc");
  EXPECT_EQ(TextOf(WithEpoch(epochs, SequenceNumber(8), added)), "7:ab 9:abc");
  EXPECT_EQ(TextOf(EpochsThrough(epochs, SequenceNumber(6))), "3:a");
  EXPECT_EQ(TextOf(EpochsThrough(epochs, SequenceNumber(2))), "");
}

TEST(EntryFilterTest, WhatIsRefusedBecomesADelete) {
  const KeyEntries in = {PutAt(3, "x"), PutAt(2, "y")};
  const Epochs epochs = {{SequenceNumber(5), "x"}};
  RetentionCounts counts;
  EXPECT_EQ(ShownVersions(KeptByFilter(in, {At({9})}, epochs, nullptr, &counts)), "3:delete")
      << "the older one may lie deeper too";
  EXPECT_EQ(counts.refused, 1u);
  EXPECT_EQ(ShownVersions(KeptByFilter(in, {At({9}), true}, epochs, nullptr, &counts)), "");
  EXPECT_EQ(counts.refused, 1u);
  EXPECT_EQ(counts.zeroed, 0u);
  EXPECT_EQ(ShownVersions(KeptByFilter({PutAt(3, "y")}, {At({9}), true}, epochs, nullptr, &counts)), "0:put=y");
  EXPECT_EQ(counts.zeroed, 1u);
}

TEST(EntryFilterTest, OneWithSequenceNumberZeroGoesWithoutADelete) {
  const Epochs epochs = {{SequenceNumber(5), "x"}};
  EXPECT_EQ(ShownVersions(KeptByFilter({PutAt(0, "x")}, {At({9})}, epochs)), "");
  EXPECT_EQ(ShownVersions(KeptByFilter({PutAt(0, "y")}, {At({9})}, epochs)), "0:put=y");
}

TEST(EntryFilterTest, ASnapshotFromBeforeTheEpochKeepsWhatItSees) {
  const KeyEntries in = {PutAt(4, "x2"), PutAt(2, "x1")};
  const Epochs epochs = {{SequenceNumber(6), "x"}};
  EXPECT_EQ(ShownVersions(KeptByFilter(in, {At({3, 9}), true}, epochs)), "4:delete 0:put=x1");
  EXPECT_EQ(ShownVersions(KeptByFilter(in, {At({5, 9}), true}, epochs)), "0:put=x2");
  EXPECT_EQ(ShownVersions(KeptByFilter(in, {At({6, 9}), true}, epochs)), "");
}

TEST(EntryFilterTest, AFilterDecidesAboutTheValueOfAPutThatExpires) {
  const Epochs epochs = {{SequenceNumber(5), "x"}};
  const KeyEntries in = {VersionOf(3, ValueKind::kExpiringPut, EncodeExpiringValue(100, "x"))};
  EXPECT_EQ(ShownVersions(KeptByFilter(in, {At({9}), false, 50}, epochs)), "3:delete");
  EXPECT_EQ(ShownVersions(KeptByFilter(in, {At({4}), false, 50}, epochs)).substr(0, 14), "3:expiring put");
  RetentionCounts counts;
  EXPECT_EQ(ShownVersions(KeptByFilter(in, {At({9}), false, 100}, epochs, nullptr, &counts)), "3:delete");
  EXPECT_EQ(counts.refused, 0u) << "what has expired is not shown to it";
}

TEST(EntryFilterTest, ASingleDeleteGoesWithARefusedPut) {
  const KeyEntries in = {VersionOf(4, ValueKind::kSingleDelete, ""), PutAt(3, "x")};
  const Epochs epochs = {{SequenceNumber(5), "x"}};
  EXPECT_EQ(ShownVersions(KeptByFilter(in, {At({9})}, epochs)), "");
}

TEST(EntryFilterTest, TheFilterIsAskedOnlyAboutWhatIsKept) {
  class Counting final : public PureFilter {
   public:
    std::string_view Name() const override { return "test.counting"; }
    bool Keep(std::string_view, std::string_view, std::string_view) const override { return ++asked, true; }
    mutable int asked = 0;
  };
  const auto counting = std::make_shared<Counting>();
  const std::vector<SequenceNumber> snapshots = At({9});
  const StripeFilter filter(counting, RefTo({{SequenceNumber(5), "x"}}), snapshots);
  Retention retention({.snapshots = snapshots, .filter = &filter});
  const auto emit = [&](const InternalKeyView&, std::string_view, bool) { return absl::OkStatus(); };
  for (uint64_t sequence = 8; sequence > 0; --sequence) {
    const ValueKind kind = sequence == 5 ? ValueKind::kDelete : ValueKind::kPut;
    ASSERT_TRUE(retention.Add({"k", PackTrailer(SequenceNumber(sequence), kind)}, "v", emit).ok());
  }
  EXPECT_EQ(counting->asked, 1);
}

TEST(EntryFilterTest, ATableIsFilteredThroughTheOldestEpochThatDecidedInIt) {
  const Epochs epochs = {{SequenceNumber(5), "x"}, {SequenceNumber(8), "xy"}};
  SequenceNumber through;
  KeptByFilter({PutAt(3, "z")}, {At({9})}, epochs, &through);
  EXPECT_EQ(through, SequenceNumber(8));
  KeptByFilter({PutAt(7, "z"), PutAt(3, "z")}, {At({6, 9})}, epochs, &through);
  EXPECT_EQ(through, SequenceNumber(5));
  KeptByFilter({PutAt(3, "z")}, {At({4, 9})}, epochs, &through);
  EXPECT_EQ(through, SequenceNumber(0));
  KeptByFilter({PutAt(3, "x")}, {At({9})}, epochs, &through);
  EXPECT_EQ(through, SequenceNumber(8)) << "nothing was kept";
}

// What happens to one key, a step for each sequence number.
enum class Step : uint8_t { kNothing, kPutX, kPutY, kDelete, kSingleDelete, kEpochX, kEpochXY, kCount };
constexpr size_t kFilterSteps = 5;
using Course = std::array<Step, kFilterSteps>;

// Epochs only grow, and between two single deletes a key is put once and not deleted otherwise.
bool IsAllowed(const Course& course) {
  int puts = 0;
  bool singly = false, deleted = false, grown = false;
  for (const Step step : course) {
    if (step == Step::kEpochX && grown) return false;
    grown = grown || step == Step::kEpochXY;
    puts += step == Step::kPutX || step == Step::kPutY ? 1 : 0;
    deleted = deleted || step == Step::kDelete;
    if (step != Step::kSingleDelete) continue;
    if (puts != 1) return false;
    puts = 0;
    singly = true;
  }
  return !singly || (!deleted && puts <= 1);
}

KeyEntries VersionsIn(const Course& course, size_t from, size_t to) {
  KeyEntries versions;
  for (size_t i = to; i-- > from;) {
    switch (course[i]) {
      case Step::kPutX:
        versions.push_back(PutAt(i + 1, "x" + std::to_string(i + 1)));
        break;
      case Step::kPutY:
        versions.push_back(PutAt(i + 1, "y" + std::to_string(i + 1)));
        break;
      case Step::kDelete:
        versions.push_back(VersionOf(i + 1, ValueKind::kDelete, ""));
        break;
      case Step::kSingleDelete:
        versions.push_back(VersionOf(i + 1, ValueKind::kSingleDelete, ""));
        break;
      case Step::kNothing:
      case Step::kEpochX:
      case Step::kEpochXY:
      case Step::kCount:
        break;
    }
  }
  return versions;
}

Epochs EpochsIn(const Course& course, size_t to) {
  Epochs epochs;
  for (size_t i = 0; i < to; ++i) {
    if (course[i] == Step::kEpochX) epochs.push_back({SequenceNumber(i + 1), "x"});
    if (course[i] == Step::kEpochXY) epochs.push_back({SequenceNumber(i + 1), "xy"});
  }
  return epochs;
}

// Readers at the snapshots of `mask` and at `end`.
std::vector<SequenceNumber> ReadersUpTo(uint32_t mask, size_t end) {
  std::vector<SequenceNumber> readers;
  for (size_t i = 1; i < end; ++i) {
    if ((mask >> i & 1) != 0) readers.emplace_back(i);
  }
  readers.emplace_back(end);
  return readers;
}

bool IsRefusedAt(const KeyEntry& version, const Epochs& epochs, SequenceNumber number) {
  const FilterEpoch* const at = EpochAt(epochs, number);
  return at != nullptr && MeaningOf(version.trailer) == Meaning::kValue &&
         !kFirstLetter->Keep("k", version.payload, at->epoch);
}

// Every course, with every set of snapshots: a job in the middle, which knows the epochs until then, and one at the end
// of what it left and what came after. No view changes, and at last nothing is left that the filter refuses.
TEST(EntryFilterTest, NoViewChangesInAnyCourse) {
  constexpr auto kKinds = static_cast<uint32_t>(Step::kCount);
  uint64_t courses = 0, refused = 0;
  for (uint32_t code = 0; code < kKinds * kKinds * kKinds * kKinds * kKinds; ++code) {
    Course course;
    uint32_t rest = code;
    for (Step& step : course) step = static_cast<Step>(std::exchange(rest, rest / kKinds) % kKinds);
    if (!IsAllowed(course) || EpochsIn(course, kFilterSteps).empty()) continue;
    ++courses;
    const KeyEntries all = VersionsIn(course, 0, kFilterSteps);
    const Epochs epochs = EpochsIn(course, kFilterSteps);
    for (uint32_t mask = 0; mask < 1u << kFilterSteps; mask += 2) {
      const size_t middle = 2 + (code + mask / 2) % (kFilterSteps - 1);
      const Job first{ReadersUpTo(mask, middle), (mask / 2 + code / 3) % 2 == 0};
      SequenceNumber through;
      RetentionCounts counts;
      KeyEntries left = KeptByFilter(VersionsIn(course, 0, middle), first, EpochsIn(course, middle), &through, &counts);
      refused += counts.refused;
      for (const KeyEntry& version : left) {
        ASSERT_FALSE(IsRefusedAt(version, epochs, through))
            << "at " << through.value() << " in " << ShownVersions(left);
      }
      KeyEntries later = VersionsIn(course, middle, kFilterSteps);
      later.insert(later.end(), left.begin(), left.end());
      const Job second{ReadersUpTo(mask & ((1u << middle) - 1), kFilterSteps), true};
      const KeyEntries last = KeptByFilter(later, second, epochs);
      for (const SequenceNumber reader : second.snapshots) {
        const auto expected = SeenFiltered(all, reader.value(), epochs);
        ASSERT_EQ(SeenFiltered(later, reader.value(), epochs), expected)
            << ShownVersions(all) << ", epochs " << TextOf(epochs) << ", at " << reader.value() << ", first job at "
            << middle << ", became " << ShownVersions(later);
        ASSERT_EQ(SeenFiltered(last, reader.value(), epochs), expected)
            << ShownVersions(all) << ", epochs " << TextOf(epochs) << ", at " << reader.value() << ", became "
            << ShownVersions(later) << " and " << ShownVersions(last);
      }
      if (second.snapshots.size() > 1) continue;
      for (const KeyEntry& version : last) {
        ASSERT_EQ(MeaningOf(version.trailer), Meaning::kValue) << ShownVersions(last);
        ASSERT_FALSE(IsRefusedAt(version, epochs, SequenceNumber(kFilterSteps))) << ShownVersions(last);
      }
    }
  }
  EXPECT_GT(courses, 1000u);
  EXPECT_GT(refused, 1000u);
}

}  // namespace
}  // namespace sepal
