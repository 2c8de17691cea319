#include "db/format/file_names.h"

#include <gtest/gtest.h>

#include <string>

namespace sepal {
namespace {

TEST(FileNamesTest, NamesAreAsPeopleKnowThem) {
  EXPECT_EQ(TableFileName(FileNumber(12)), "000012.sst");
  EXPECT_EQ(LogFileName(FileNumber(12)), "000012.log");
  EXPECT_EQ(ValueFileName(FileNumber(12)), "000012.val");
  EXPECT_EQ(ManifestFileName(FileNumber(5)), "MANIFEST-000005");
  EXPECT_EQ(TableFileName(FileNumber(12345678)), "12345678.sst");
}

TEST(FileNamesTest, EveryMadeNameIsParsedBack) {
  for (const uint64_t n : {uint64_t{1}, uint64_t{999999}, uint64_t{1000000}, ~uint64_t{0}}) {
    const FileNumber number(n);
    EXPECT_EQ(ParseFileName(TableFileName(number)), (ParsedFileName{FileKind::kTable, number}));
    EXPECT_EQ(ParseFileName(LogFileName(number)), (ParsedFileName{FileKind::kLog, number}));
    EXPECT_EQ(ParseFileName(RingFileName(number)), (ParsedFileName{FileKind::kLogRing, number}));
    EXPECT_EQ(ParseFileName(ValueFileName(number)), (ParsedFileName{FileKind::kValues, number}));
    EXPECT_EQ(ParseFileName(ManifestFileName(number)), (ParsedFileName{FileKind::kManifest, number}));
  }
  EXPECT_EQ(ParseFileName("LOCK"), (ParsedFileName{FileKind::kLock, FileNumber()}));
  EXPECT_EQ(ParseFileName("LOG"), (ParsedFileName{FileKind::kInfoLog, FileNumber()}));
  EXPECT_EQ(ParseFileName("LOG.old"), (ParsedFileName{FileKind::kOldInfoLog, FileNumber()}));
  EXPECT_EQ(ParseFileName("CURRENT"), (ParsedFileName{FileKind::kGuard, FileNumber()}));
}

TEST(FileNamesTest, ForeignNamesAreRefused) {
  for (const char* name : {"",
                           ".",
                           "..",
                           "CURRENT.dbtmp",
                           "current",
                           "lock",
                           "LOG.older",
                           "MANIFEST",
                           "MANIFEST-",
                           "MANIFEST-1",
                           "MANIFEST-00000x",
                           "000000.sst",
                           "12.sst",
                           "0000012.sst",
                           "000012.SST",
                           "000012.sst.bak",
                           " 00012.sst",
                           "+00012.sst",
                           "-00012.log",
                           "000012",
                           ".sst",
                           "18446744073709551616.log",
                           "99999999999999999999999.log",
                           "../000012.sst",
                           "MANIFEST-000005.tmp"}) {
    EXPECT_EQ(ParseFileName(name), std::nullopt) << name;
  }
}

TEST(FileNamesTest, FilesOfAnotherKindOrNumberAreNotTheSame) {
  EXPECT_FALSE(*ParseFileName("000001.log") == *ParseFileName("000001.sst"));
  EXPECT_FALSE(*ParseFileName("000001.log") == *ParseFileName("000002.log"));
}

}  // namespace
}  // namespace sepal
