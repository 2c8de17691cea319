#include "db/format/time_mark.h"

#include <gtest/gtest.h>

#include <string>

#include "db/format/batch_format.h"
#include "util/base/strings.h"

namespace sepal {
namespace {

TEST(TimeMarkTest, AMarkIsARowOfTheSystemFamily) {
  std::string batch(kBatchHeaderBytes, '\0');
  PutTimeMark(&batch, {{.unix_millis = 0x0102030405, .sequence = SequenceNumber(0x060708)}, 0x0a0b0c0d0e});
  DeleteTimeMark(&batch, {.unix_millis = 1, .sequence = SequenceNumber(9)});
  EXPECT_EQ(ToHex(batch),
            "02000000"
            "01ffffffff0f0902000000000006070810050403020100000"
            "00e0d0c0b0a000000"
            "00ffffffff0f09020000000000000009");
  EXPECT_TRUE(CheckBatch(batch).ok());
}

TEST(TimeMarkTest, WhatIsNoMarkIsToldFromOne) {
  const TimeMarkRow row{{.unix_millis = 1'700'000'000'000, .sequence = kMaxSequenceNumber}, 1};
  const std::string name = TimeMarkName(row.mark.sequence);
  EXPECT_EQ(ParseTimeMark(name, std::string_view("\x00\x68\xe5\xcf\x8b\x01\0\0\x01\0\0\0\0\0\0\0", 16)), row);
  EXPECT_EQ(ParseTimeMark(name, "short"), std::nullopt);
  EXPECT_EQ(ParseTimeMark(name, "a time that is too long"), std::nullopt);
  EXPECT_EQ(ParseTimeMark(name.substr(1), "1234567812345678"), std::nullopt);
  EXPECT_EQ(ParseTimeMark(std::string(8, '\xff'), "1234567812345678"), std::nullopt);  // above all sequence numbers
  EXPECT_LT(TimeMarkName(SequenceNumber(255)), TimeMarkName(SequenceNumber(256)));
}

}  // namespace
}  // namespace sepal
