// What a pool holds, byte for byte: databases of earlier builds must stay readable.
#include "rados/layout.h"

#include <gtest/gtest.h>

namespace sepal::rados {
namespace {

TEST(RadosLayoutTest, EntriesAreTheseBytes) {
  const Entry open = {.id = "10b3-1", .object_bytes = 4194304, .size = -1, .ref = {}, .home = {}};
  EXPECT_EQ(EncodeEntry(open), "10b3-1 4194304 - - .");
  const Entry linked = {.id = "10b3-2", .object_bytes = 64, .size = 1000, .ref = "10b3-3", .home = "some dir/db"};
  EXPECT_EQ(EncodeEntry(linked), "10b3-2 64 1000 10b3-3 some dir/db");
  EXPECT_EQ(DecodeEntry("10b3-1 4194304 - - .").value(), open);
  EXPECT_EQ(DecodeEntry("10b3-2 64 1000 10b3-3 some dir/db").value(), linked);
  const Entry elsewhere = {.id = "10b3-4", .object_bytes = 64, .size = 7, .ref = {}, .home = {}, .pool = 12};
  EXPECT_EQ(EncodeEntry(elsewhere), "10b3-4 64@12 7 - .");
  EXPECT_EQ(DecodeEntry("10b3-4 64@12 7 - .").value(), elsewhere);
  EXPECT_EQ(DeadKey(open), "d:10b3-1");
  EXPECT_EQ(DeadKey(linked), "d:10b3-2/10b3-3");
  EXPECT_EQ(NameKey("000007.sst"), "n:000007.sst");
  EXPECT_EQ(ObjectName("10b3-1", 12), "10b3-1.12");
  EXPECT_EQ(RefsObject("10b3-1"), "10b3-1.refs");
  EXPECT_EQ(IdOfObject("10b3-1.12"), "10b3-1");
  EXPECT_EQ(IdOfObject("10b3-1.refs"), "10b3-1");
}

TEST(RadosLayoutTest, WhatIsNoEntryIsRefused) {
  for (const char* text : {"",
                           " ",
                           "1",
                           "1 64 - -",
                           "1 64 - - ",
                           "1  - - .",
                           "1 63 0 - .",
                           "1 67108865 0 - .",
                           "1 064 0 - .",
                           "1 64@ 0 - .",
                           "1 64@-1 0 - .",
                           "1 64@01 0 - .",
                           "1 64@9223372036854775808 0 - .",
                           "1 @2 0 - .",
                           "1 64@2@3 0 - .",
                           "1 64 +1 - .",
                           "1 64 -1 - .",
                           "1 64 9223372036854775808 - .",
                           "1 64 x - .",
                           "1 64 0  .",
                           " 64 0 - ."}) {
    EXPECT_EQ(DecodeEntry(text).status().code(), absl::StatusCode::kDataLoss) << text;
  }
}

TEST(RadosLayoutTest, EqualPathsAreOneNamespace) {
  for (const char* path : {"a/b", "/a/b", "a//b/", "./a/./b", "//a/b//"}) EXPECT_EQ(NamespaceOf(path), "a/b");
  EXPECT_EQ(NamespaceOf("/"), ".");
  EXPECT_EQ(NamespaceOf("a/../b"), "a/../b");
}

}  // namespace
}  // namespace sepal::rados
