#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "db/decide/merge/fold.h"
#include "sepal/db.h"
#include "sepal/merge_operator.h"
#include "util/base/random.h"

namespace sepal {
namespace {

using Operands = std::vector<std::string>;

absl::StatusOr<std::string> Merged(const MergeOperator& merge, std::optional<std::string_view> base,
                                   const Operands& operands) {
  const std::vector<std::string_view> views(operands.begin(), operands.end());
  std::string value;
  const absl::Status status = MergeValue(merge, "key", base, views, &value);
  if (!status.ok()) return status;
  return value;
}

std::optional<std::string> Combined(const MergeOperator& merge, const Operands& operands) {
  const std::vector<std::string_view> views(operands.begin(), operands.end());
  std::string operand;
  if (!CombineOperands(merge, "key", views, &operand)) return std::nullopt;
  return operand;
}

std::string Number(int64_t number) { return MergeOperators::EncodeInt64(number); }

TEST(MergeOperatorsTest, Add64AddsAndWrapsAround) {
  const auto add = MergeOperators::Add64();
  EXPECT_EQ(*Merged(*add, std::nullopt, {Number(5)}), Number(5));
  EXPECT_EQ(*Merged(*add, Number(-7), {Number(5), Number(1)}), Number(-1));
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(*Merged(*add, Number(kMost), {Number(1)}), Number(std::numeric_limits<int64_t>::min()));
  EXPECT_EQ(*MergeOperators::DecodeInt64(Number(-42)), -42);
}

TEST(MergeOperatorsTest, Add64RefusesWhatIsNoNumberByNameOfOperatorAndKey) {
  const auto add = MergeOperators::Add64();
  EXPECT_EQ(
      Merged(*add, "abc", {Number(5)}).status().ToString(),
      "INVALID_ARGUMENT: merge operator \"sepal.Add64\" failed for key 'key': the value has 3 bytes, and a 64-bit "
      "number has 8");
  EXPECT_TRUE(absl::IsInvalidArgument(Merged(*add, std::nullopt, {""}).status()));
  EXPECT_EQ(Combined(*add, {Number(1), "x"}), std::nullopt);
  EXPECT_TRUE(absl::IsInvalidArgument(MergeOperators::DecodeInt64("123").status()));
}

TEST(MergeOperatorsTest, AppendPutsItsSeparatorBetween) {
  const auto append = MergeOperators::Append(", ");
  EXPECT_EQ(*Merged(*append, std::nullopt, {"a"}), "a");
  EXPECT_EQ(*Merged(*append, std::nullopt, {"a", "b"}), "a, b");
  EXPECT_EQ(*Merged(*append, "", {"a", "b"}), ", a, b") << "an empty value is there";
  EXPECT_EQ(*Merged(*MergeOperators::Append(""), "x", {"y", "z"}), "xyz");
}

TEST(MergeOperatorsTest, MaxAndMinCompareBytes) {
  EXPECT_EQ(*Merged(*MergeOperators::Max(), "b", {"a", "c", "b"}), "c");
  EXPECT_EQ(*Merged(*MergeOperators::Max(), std::nullopt, {""}), "");
  EXPECT_EQ(*Merged(*MergeOperators::Max(), "\xff", {"a"}), "\xff");
  EXPECT_EQ(*Merged(*MergeOperators::Min(), "b", {"ab", "c"}), "ab");
  EXPECT_EQ(*Merged(*MergeOperators::Min(), std::nullopt, {"z", "y"}), "y");
}

TEST(MergeOperatorsTest, EachIsFoundByItsName) {
  for (const auto& merge : {MergeOperators::Add64(), MergeOperators::Append("\n"), MergeOperators::Append(""),
                            MergeOperators::Max(), MergeOperators::Min(), MergeOperators::JsonMergePatch()}) {
    const auto found = MergeOperators::ByName(merge->Name());
    ASSERT_NE(found, nullptr) << merge->Name();
    EXPECT_EQ(found->Name(), merge->Name());
  }
  EXPECT_EQ(MergeOperators::ByName("sepal.Append"), nullptr);
  EXPECT_EQ(MergeOperators::ByName(""), nullptr);
}

// The examples of RFC 7386, appendix A: target, patch, result.
TEST(MergeOperatorsTest, JsonMergePatchDoesWhatTheRfcSays) {
  const char* const cases[][3] = {
      {R"({"a":"b"})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":"b"})", R"({"b":"c"})", R"({"a":"b","b":"c"})"},
      {R"({"a":"b"})", R"({"a":null})", R"({})"},
      {R"({"a":"b","b":"c"})", R"({"a":null})", R"({"b":"c"})"},
      {R"({"a":["b"]})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":"c"})", R"({"a":["b"]})", R"({"a":["b"]})"},
      {R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})", R"({"a":{"b":"d"}})"},
      {R"({"a":[{"b":"c"}]})", R"({"a":[1]})", R"({"a":[1]})"},
      {R"(["a","b"])", R"(["c","d"])", R"(["c","d"])"},
      {R"({"a":"b"})", R"(["c"])", R"(["c"])"},
      {R"({"a":"foo"})", R"(null)", R"(null)"},
      {R"({"a":"foo"})", R"("bar")", R"("bar")"},
      {R"({"e":null})", R"({"a":1})", R"({"a":1,"e":null})"},
      {R"([1,2])", R"({"a":"b","c":null})", R"({"a":"b"})"},
      {R"({})", R"({"a":{"bb":{"ccc":null}}})", R"({"a":{"bb":{}}})"},
  };
  const auto json = MergeOperators::JsonMergePatch();
  for (const auto& [target, patch, result] : cases) {
    EXPECT_EQ(*Merged(*json, target, {patch}), result) << target << " patched with " << patch;
  }
  EXPECT_EQ(*Merged(*json, std::nullopt, {R"({"a":{"b":null,"c":1}})"}), R"({"a":{"c":1}})");
}

TEST(MergeOperatorsTest, JsonNumbersKeepAllOfTheirDigits) {
  const auto json = MergeOperators::JsonMergePatch();
  EXPECT_EQ(*Merged(*json, R"({"n": 123456789012345678901234567890, "f": 1.10})", {R"({"e":1e300})"}),
            R"({"e":1e300,"f":1.10,"n":123456789012345678901234567890})");
}

TEST(MergeOperatorsTest, JsonThatIsNoneOrNestedTooDeeplyIsRefused) {
  const auto json = MergeOperators::JsonMergePatch();
  EXPECT_EQ(
      Merged(*json, std::nullopt, {"{\"a\":"}).status().ToString(),
      "INVALID_ARGUMENT: merge operator \"sepal.JsonMergePatch\" failed for key 'key': the patch is no JSON text: "
      "byte 6");
  EXPECT_TRUE(absl::IsInvalidArgument(Merged(*json, "\"\xff\"", {"{}"}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Merged(*json, "", {"{}"}).status()));
  const auto nested = [](size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); };
  EXPECT_EQ(*Merged(*json, "{}", {nested(256)}), nested(256));
  EXPECT_TRUE(absl::IsInvalidArgument(Merged(*json, "{}", {nested(257)}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Merged(*json, "{}", {nested(1000000)}).status()));
}

TEST(MergeOperatorsTest, JsonPatchesAreCombinedWhereOnePatchCanSayTheSame) {
  const auto json = MergeOperators::JsonMergePatch();
  EXPECT_EQ(Combined(*json, {R"({"a":1,"b":null})", R"({"a":null,"c":{"d":null}})"}),
            R"({"a":null,"b":null,"c":{"d":null}})");
  EXPECT_EQ(Combined(*json, {R"({"a":1})", "7"}), "7");
  EXPECT_EQ(Combined(*json, {"7", R"({"a":1})"}), std::nullopt) << "over an object the patch would keep its members";
  EXPECT_EQ(Combined(*json, {R"({"a":null})", R"({"a":{"b":1}})"}), std::nullopt);
}

// A random JSON text over few names, so that patches meet.
std::string RandomJson(Random* random, int depth) {
  switch (random->Uniform(depth > 0 ? 6 : 3)) {
    case 0:
      return "null";
    case 1:
      return std::to_string(random->Uniform(3));
    case 2:
      return "[" + std::to_string(random->Uniform(2)) + "]";
    default:
      break;
  }
  std::string object = "{";
  for (const char* const name : {"\"a\"", "\"b\""}) {
    if (random->OneIn(3)) continue;
    object += (object.size() > 1 ? "," : "") + std::string(name) + ":" + RandomJson(random, depth - 1);
  }
  return object + "}";
}

// What the engine may do with the operands of a key, in any order and number, must not change the value.
TEST(MergeOperatorsTest, CombiningSomeOperandsChangesNoValue) {
  Random random(7);
  const auto number = [&] { return Number(static_cast<int64_t>(random.Next())); };
  const auto text = [&] { return std::string(random.Uniform(4), static_cast<char>('a' + random.Uniform(3))); };
  const auto json = [&] { return RandomJson(&random, 3); };
  const std::pair<std::shared_ptr<const MergeOperator>, std::function<std::string()>> all[] = {
      {MergeOperators::Add64(), number},
      {MergeOperators::Append("-"), text},
      {MergeOperators::Max(), text},
      {MergeOperators::Min(), text},
      {MergeOperators::JsonMergePatch(), json}};
  for (const auto& [merge, make] : all) {
    int combined = 0;
    for (int round = 0; round < 2000; ++round) {
      std::optional<std::string> base;
      if (random.OneIn(2)) base = make();
      Operands operands(2 + random.Uniform(5));
      for (std::string& operand : operands) operand = make();
      const std::string expected = *Merged(*merge, base, operands);
      const size_t begin = random.Uniform(operands.size() - 1);
      const size_t end = begin + 2 + random.Uniform(operands.size() - begin - 1);
      const auto one = Combined(*merge, {operands.begin() + begin, operands.begin() + end});
      if (!one.has_value()) continue;
      ++combined;
      operands.erase(operands.begin() + begin + 1, operands.begin() + end);
      operands[begin] = *one;
      ASSERT_EQ(*Merged(*merge, base, operands), expected) << merge->Name();
    }
    EXPECT_GT(combined, 500) << merge->Name();
  }
}

class Failing final : public MergeOperator {
 public:
  std::string_view Name() const override { return "test.Failing"; }
  absl::Status Merge(std::string_view, std::optional<std::string_view>, std::span<const std::string_view>,
                     std::string*) const override {
    return absl::UnavailableError("not today");
  }
};

TEST(MergeOperatorsTest, AnErrorOfAnOperatorKeepsItsCode) {
  EXPECT_EQ(Merged(Failing(), std::nullopt, {"x"}).status().ToString(),
            "UNAVAILABLE: merge operator \"test.Failing\" failed for key 'key': not today");
  EXPECT_EQ(Combined(Failing(), {"x", "y"}), std::nullopt);
}

}  // namespace
}  // namespace sepal
