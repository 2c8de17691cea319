#include "table/file/block_source.h"

#include "absl/strings/str_format.h"
#include "gmock/gmock.h"
#include "tests/table/file/table_fixture.h"
#include "tests/table/file/table_parts.h"
#include "tests/util/base/compress_all.h"

namespace sepal {
namespace {

using ::testing::HasSubstr;

constexpr UnitKind kAllKinds[] = {UnitKind::kDataBlock, UnitKind::kLeafPage, UnitKind::kRoot, UnitKind::kGuard,
                                  UnitKind::kProperties};

// A file of one unit, at an offset.
class UnitFile {
 public:
  UnitFile(std::string_view unit, CompressionKind compression, uint64_t offset = 7) : handle_{offset, unit.size()} {
    auto contents = std::make_shared<std::string>(offset, 'x');
    contents->append(unit);
    contents->push_back(static_cast<char>(compression));
    PutFixed32(contents.get(), UnitChecksum(unit, compression, kTestTableId, offset));
    contents_ = contents;
    file_ = std::make_unique<StringReadableFile>(contents_, faults_);
  }
  BlockHandle handle() const { return handle_; }
  std::string_view bytes_and_trailer() const { return std::string_view(*contents_).substr(handle_.offset); }
  ReadFaults& faults() { return *faults_; }
  BlockSource::Context ContextOf(BlockCache* cache = nullptr) const {
    return {.name = "unit.sst",
            .file = file_.get(),
            .file_size = contents_->size(),
            .table_id = kTestTableId,
            .order = KeyOrder(),
            .cache = cache};
  }

 private:
  const BlockHandle handle_;
  std::shared_ptr<const std::string> contents_;
  const std::shared_ptr<ReadFaults> faults_ = std::make_shared<ReadFaults>();
  std::unique_ptr<StringReadableFile> file_;
};

void ExpectDamage(const absl::Status& status, const std::string& what) {
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(status.ToString(), HasSubstr("unit.sst"));
  EXPECT_THAT(status.ToString(), HasSubstr(what));
}

std::string OneBlock() {
  BlockBuilder builder(/*tags=*/true);
  const InternalKey key("key", PackTrailer(SequenceNumber(1), ValueKind::kPut));
  builder.Add(key.view(), std::string(200, 'v'), TestLookupKey("key").hash);
  return std::string(builder.Finish(/*continuation=*/false));
}

TEST(BlockSourceTest, EveryKindOfUnitHasItsNameAndIsChargedSomewhere) {
  EXPECT_EQ(PartOf(UnitKind::kDataBlock), MemoryPart::kDataBlocks);
  EXPECT_EQ(PartOf(UnitKind::kProperties), MemoryPart::kDataBlocks);
  EXPECT_EQ(PartOf(UnitKind::kLeafPage), MemoryPart::kLeafPages);
  EXPECT_EQ(PartOf(UnitKind::kRoot), MemoryPart::kLeafPages);
  EXPECT_EQ(PartOf(UnitKind::kGuard), MemoryPart::kGuards);
  const UnitFile file("bytes", CompressionKind::kNone);
  const BlockSource source(file.ContextOf());
  for (const UnitKind kind : kAllKinds) {
    ExpectDamage(source.Read({0, 0}, kind).status(), absl::StrFormat("%s lies outside of the file", Name(kind)));
  }
}

TEST(BlockSourceTest, AHandleOutsideOfTheFileIsDamageWhateverItsNumbers) {
  const UnitFile file("bytes", CompressionKind::kNone);
  const BlockSource source(file.ContextOf());
  const uint64_t size = file.ContextOf().file_size;
  const uint64_t most = ~uint64_t{0};
  for (const BlockHandle handle : std::vector<BlockHandle>{{7, 0},
                                                           {7, 6},
                                                           {8, 5},
                                                           {size, 1},
                                                           {size + 1, 1},
                                                           {most, 1},
                                                           {0, kMaxUnitBytes + 1},
                                                           {0, most},
                                                           {most, most},
                                                           {7, most - 4}}) {
    ExpectDamage(source.CheckHandle(handle, UnitKind::kProperties), "lies outside of the file");
    ExpectDamage(source.Read(handle, UnitKind::kProperties).status(), "lies outside of the file");
    ExpectDamage(source.Decode(handle, UnitKind::kProperties, "").status(), "lies outside of the file");
  }
  EXPECT_TRUE(source.CheckHandle(file.handle(), UnitKind::kProperties).ok());
  EXPECT_EQ(source.Read(file.handle(), UnitKind::kProperties)->view(), "bytes");
}

TEST(BlockSourceTest, AUnitOfWhichThereIsLessThanItsHandleSaysIsDamage) {
  UnitFile file("bytes", CompressionKind::kNone);
  const BlockSource source(file.ContextOf());
  EXPECT_EQ(source.Decode(file.handle(), UnitKind::kProperties, file.bytes_and_trailer())->view(), "bytes");
  std::string more(file.bytes_and_trailer());
  more.push_back('x');
  ExpectDamage(source.Decode(file.handle(), UnitKind::kProperties, more).status(), "is truncated");
  more.resize(more.size() - 2);
  ExpectDamage(source.Decode(file.handle(), UnitKind::kProperties, more).status(), "is truncated");
  file.faults().end = file.handle().offset + 6;
  ExpectDamage(source.Read(file.handle(), UnitKind::kProperties).status(), "the file ends within it");
}

TEST(BlockSourceTest, AFlipOnTheWayFromTheDiskIsReadAgainAndOnlyOnce) {
  UnitFile file("bytes", CompressionKind::kNone);
  const BlockSource source(file.ContextOf());
  file.faults().flips = 1;
  EXPECT_EQ(source.Read(file.handle(), UnitKind::kProperties)->view(), "bytes");
  EXPECT_EQ(file.faults().reads, 2u);
  file.faults().flips = 2;
  ExpectDamage(source.Read(file.handle(), UnitKind::kProperties).status(), "checksum of the properties");
  EXPECT_EQ(file.faults().reads, 4u);
  // The second reading fails.
  file.faults().flips = 1;
  file.faults().well = file.faults().reads + 1;
  file.faults().status = absl::InternalError("the disk");
  EXPECT_TRUE(absl::IsInternal(source.Read(file.handle(), UnitKind::kProperties).status()));
  // Bytes that are given are not read again.
  std::string damaged(file.bytes_and_trailer());
  damaged[0] ^= 1;
  ExpectDamage(source.Decode(file.handle(), UnitKind::kProperties, damaged).status(), "checksum of the properties");
}

TEST(BlockSourceTest, CompressionThatIsNotKnownOrNotOfThatKindOfUnitIsDamage) {
  for (const UnitKind kind : kAllKinds) {
    const UnitFile unknown("bytes", static_cast<CompressionKind>(9));
    ExpectDamage(BlockSource(unknown.ContextOf()).Read(unknown.handle(), kind).status(),
                 "compression 9 is not supported");
    if (kind == UnitKind::kDataBlock || kind == UnitKind::kProperties) continue;
    const UnitFile compressed("bytes", CompressionKind::kSnappy);
    ExpectDamage(BlockSource(compressed.ContextOf()).Read(compressed.handle(), kind).status(), "is not supported here");
  }
}

TEST(BlockSourceTest, CompressedBytesThatAreNoneAreDamage) {
  std::string huge;
  ASSERT_TRUE(CompressAll(CompressionKind::kZstd, std::string(size_t{49} << 20, 'p'), &huge).ok());
  for (const auto& [unit, what] : {std::pair{std::string(40, '\xff'), "are not snappy-compressed"},
                                   std::pair{std::string("\x05") + std::string(40, '\xff'), "properties"}}) {
    const UnitFile file(unit, CompressionKind::kSnappy);
    const BlockSource source(file.ContextOf());
    ExpectDamage(source.Read(file.handle(), UnitKind::kProperties).status(), what);
    ExpectDamage(source.Decode(file.handle(), UnitKind::kProperties, file.bytes_and_trailer()).status(), what);
  }
  const UnitFile file(huge, CompressionKind::kZstd);
  ExpectDamage(BlockSource(file.ContextOf()).Read(file.handle(), UnitKind::kProperties).status(),
               "size before compression");
}

TEST(BlockSourceTest, WhatIsWellMadeButNoUnitOfItsKindIsDamage) {
  const std::string block = OneBlock();
  std::string compressed;
  ASSERT_TRUE(CompressAll(CompressionKind::kSnappy, block, &compressed).ok());
  const UnitFile file(compressed, CompressionKind::kSnappy);
  const BlockSource source(file.ContextOf());
  CompressionKind stored_as = CompressionKind::kNone;
  EXPECT_EQ(source.Read(file.handle(), UnitKind::kDataBlock, &stored_as)->view(), block);
  EXPECT_EQ(stored_as, CompressionKind::kSnappy);
  EXPECT_EQ(source.Decode(file.handle(), UnitKind::kDataBlock, file.bytes_and_trailer())->view(), block);
  for (const UnitKind kind : {UnitKind::kDataBlock, UnitKind::kLeafPage, UnitKind::kRoot, UnitKind::kGuard}) {
    const UnitFile none("bytes", CompressionKind::kNone);
    const BlockSource of_none(none.ContextOf());
    ExpectDamage(of_none.Read(none.handle(), kind).status(), std::string(Name(kind)));
    ExpectDamage(of_none.Decode(none.handle(), kind, none.bytes_and_trailer()).status(), std::string(Name(kind)));
  }
}

TEST(BlockSourceTest, AFailedReadIsToldAndNothingIsKept) {
  UnitFile file(OneBlock(), CompressionKind::kNone);
  TestCache cache(size_t{1} << 20);
  const BlockSource source(file.ContextOf(&cache.cache));
  file.faults().status = absl::InternalError("the disk");
  EXPECT_TRUE(absl::IsInternal(source.Get(file.handle(), UnitKind::kDataBlock, true).status()));
  EXPECT_FALSE(source.GetCached(file.handle(), UnitKind::kDataBlock));
  file.faults().status = absl::OkStatus();
  EXPECT_TRUE(source.Get(file.handle(), UnitKind::kDataBlock, true).ok());
  HintWord hint{0};
  EXPECT_TRUE(source.GetCached(file.handle(), UnitKind::kDataBlock, &hint));
  EXPECT_NE(hint.load(), 0u);
  source.Prefetch(file.handle(), &hint);
  source.Prefetch(file.handle(), nullptr);
  EXPECT_TRUE(source.GetCached(file.handle(), UnitKind::kDataBlock, &hint));
  // A hint that leads elsewhere only costs time.
  hint = ~uint64_t{0} >> 20;
  EXPECT_TRUE(source.GetCached(file.handle(), UnitKind::kDataBlock, &hint));
}

TEST(BlockSourceTest, WhatSourcesThatAreGoneLeaveInTheCacheIsErasedTogether) {
  const UnitFile file(OneBlock(), CompressionKind::kNone);
  TestCache cache(size_t{1} << 20);
  const BlockSource open(file.ContextOf(&cache.cache));
  EXPECT_TRUE(open.Get(file.handle(), UnitKind::kDataBlock, true).ok());
  const size_t of_one = cache.budget.total();
  for (int i = 0; i < 3; ++i) {
    const BlockSource source(file.ContextOf(&cache.cache));
    EXPECT_TRUE(source.Get(file.handle(), UnitKind::kDataBlock, true).ok());
  }
  EXPECT_EQ(cache.budget.total(), 4 * of_one) << "a look at the whole cache for each";
  cache.cache.EraseGone();
  EXPECT_EQ(cache.budget.total(), of_one);
  EXPECT_TRUE(open.GetCached(file.handle(), UnitKind::kDataBlock));
}

TEST(BlockSourceTest, AHintMayBeMadeOfWhatTheCacheHas) {
  const UnitFile file(OneBlock(), CompressionKind::kNone);
  TestCache cache(size_t{1} << 20);
  const BlockSource source(file.ContextOf(&cache.cache));
  BlockHint hint;
  source.Sight(file.handle(), &hint);
  EXPECT_EQ(hint.frame.load(), 0u);
  EXPECT_EQ(hint.end.load(), nullptr);
  const absl::StatusOr<CachePin> pin = source.Get(file.handle(), UnitKind::kDataBlock, true);
  ASSERT_TRUE(pin.ok()) << pin.status();
  source.Sight(file.handle(), &hint);
  EXPECT_EQ(hint.frame.load(), pin->hint().word);
  EXPECT_EQ(hint.end.load(), pin->bytes().data() + pin->bytes().size());

  const BlockSource without(file.ContextOf());
  BlockHint none;
  without.Sight(file.handle(), &none);
  EXPECT_EQ(none.frame.load(), 0u);
}

TEST(BlockSourceTest, WithoutACacheNothingIsFoundAndPinsAreAlone) {
  const UnitFile file(OneBlock(), CompressionKind::kNone);
  const BlockSource source(file.ContextOf());
  HintWord hint{0};
  EXPECT_FALSE(source.GetCached(file.handle(), UnitKind::kDataBlock, &hint));
  source.Prefetch(file.handle(), &hint);
  const absl::StatusOr<CachePin> pin = source.Get(file.handle(), UnitKind::kDataBlock, true, &hint);
  ASSERT_TRUE(pin.ok()) << pin.status();
  EXPECT_EQ(pin->bytes(), OneBlock());
  EXPECT_FALSE(source.GetCached(file.handle(), UnitKind::kDataBlock, &hint));
}

}  // namespace
}  // namespace sepal
