// sepal filter page: what it holds, and what it does in a browser.
#include "tools/sepal/pictures/filter_page.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "sepal/filter/any_filter.h"
#include "tests/tools/browser.h"
#include "tests/tools/sepal_command_fixture.h"
#include "tools/sepal/filter_access.h"

namespace sepal::tools {
namespace {

using filters::BloomFilter;
using filters::BloomLayout;
using filters::BloomShape;

class FilterPageTest : public SepalCommandTest {
 protected:
  nlohmann::json DataInPage() const {
    const std::string page = Slurp(page_), begin = "<script type=\"application/json\" id=\"data\">";
    const size_t at = page.find(begin) + begin.size();
    return nlohmann::json::parse(page.substr(at, page.find("</script>", at) - at));
  }
  // Has the browser run `script` in the page, which leaves what it found in `out`.
  nlohmann::json Play(const std::string& script, const Rendering& rendering = {}) const {
    const std::string played = directory_.File("played.html");
    std::ofstream(played) << Slurp(page_) << "<script>\nconst out = {}, at = (id) => document.getElementById(id);\n"
                          << "const set = (id, value) => { at(id).value = value;\n"
                          << "  for (const kind of [\"input\", \"change\"]) at(id).dispatchEvent(new Event(kind)) };\n"
                          << "const save = () => { document.body.dataset.out = "
                             "btoa(unescape(encodeURIComponent(JSON.stringify(out)))) };\n"
                          << script << "\nsave();\n</script>";
    const std::string dom = Rendered(played, directory_.File("profile"), rendering), mark = "data-out=\"";
    const size_t begin = dom.find(mark);
    if (begin == std::string::npos) {
      ADD_FAILURE() << "the script failed: " << dom.substr(0, 500);
      return nlohmann::json::object();
    }
    const size_t first = begin + mark.size();
    std::string text;
    EXPECT_TRUE(absl::Base64Unescape(dom.substr(first, dom.find('"', first) - first), &text));
    return nlohmann::json::parse(text);
  }
  void MakePage(const std::string& shown = "") const {
    std::vector<std::string> words = {"filter", "page", "--output", page_};
    if (!shown.empty()) words.push_back(shown);
    const Outcome made = RunSepal(words);
    ASSERT_EQ(made.exit, kExitOk) << made.err;
  }
  void Write(const filters::AnyFilter& filter) const {
    std::filesystem::create_directory(directory_.File("<"));
    std::ofstream(filter_, std::ios::binary) << filters::Serialize(filter);
  }

  const std::string page_ = directory_.File("filter.html"), filter_ = directory_.File("</script><b>.filter");
};

TEST_F(FilterPageTest, ItIsOneFileThatNeedsNoNetwork) {
  filters::AnyFilter filter = BloomFilter::ForKeys(100, 0.01).value();
  ASSERT_TRUE(filters::Add(&filter, "pear").ok());
  Write(filter);
  MakePage(filter_);
  const nlohmann::json data = DataInPage();
  EXPECT_EQ(data.at("filter").at("name"), filter_);
  EXPECT_EQ(data.at("filter").at("info").at("keys"), 1);
  std::string rest = Slurp(page_);
  // The namespace of SVG is a name, not an address.
  const std::string name = "http://www.w3.org/2000/svg";
  for (size_t at = rest.find(name); at != std::string::npos; at = rest.find(name)) rest.erase(at, name.size());
  for (const char* part : {"http", "src=", "@import", "url(", "fetch(", "<b>.filter", "@DATA@", "@SCRIPT@"}) {
    EXPECT_FALSE(Has(rest, part)) << part;
  }
}

TEST_F(FilterPageTest, AFilterThatIsTooLargeIsShownWithoutItsBits) {
  filters::AnyFilter filter = BloomFilter::ForKeys(1000, 0.01).value();
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(filters::Add(&filter, Key(i)).ok());
  const nlohmann::json small = FilterPageData("f", filter), large = FilterPageData("f", filter, 1000);
  EXPECT_EQ(small.at("bytes").get<std::string>().size(), (filters::Serialize(filter).size() + 2) / 3 * 4);
  EXPECT_TRUE(large.at("bytes").is_null());
  EXPECT_EQ(large.at("maps"), small.at("maps"));
}

TEST_F(FilterPageTest, TheMapOfEachKindHasTheFillOfTheFilter) {
  std::vector<filters::AnyFilter> empty = [] {
    std::vector<filters::AnyFilter> all;
    for (const BloomLayout layout : {BloomLayout::kBlocked, BloomLayout::kClassic, BloomLayout::kPartitioned}) {
      all.emplace_back(BloomFilter::ForKeys(5000, 0.01, layout).value());
    }
    all.emplace_back(filters::CountingBloomFilter::ForKeys(5000, 0.01, 4).value());
    all.emplace_back(filters::CountingBloomFilter::ForKeys(5000, 0.01, 8).value());
    all.emplace_back(filters::AgeingFilter::ForKeys(5000, 0.01).value());
    all.emplace_back(filters::FingerprintTable::ForKeys(5000, 8).value());
    all.emplace_back(filters::FingerprintTable::ForKeys(5000, 16).value());
    return all;
  }();
  for (filters::AnyFilter& filter : empty) {
    const std::string kind(filters::NameOf(filters::Describe(filter).kind));
    for (int i = 0; i < 3000; ++i) {
      const absl::Status added = filters::Add(&filter, Key(i));
      ASSERT_TRUE(added.ok() || filters::AddAndTest(&filter, Key(i)).ok()) << kind << added;
    }
    double sum = 0;
    const nlohmann::json map = FilterPageData("f", filter).at("maps").at(0);
    for (const nlohmann::json& fill : map.at("fills")) sum += fill.get<double>();
    EXPECT_NEAR(sum / static_cast<double>(map.at("fills").size()), filters::Describe(filter).fill, 0.002) << kind;
  }
  filters::AnyFilter scalable = filters::ScalableBloomFilter::Create(100, 0.01).value();
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(filters::Add(&scalable, Key(i)).ok());
  EXPECT_EQ(FilterPageData("f", scalable).at("maps").size(),
            std::get<filters::ScalableBloomFilter>(scalable).parts().size());
}

TEST_F(FilterPageTest, TheFiltersOfATreeAreShownBlockByBlock) {
  MakeRichDatabase();
  MakePage(db_);
  const nlohmann::json database = DataInPage().at("database");
  size_t tables = 0;
  for (const nlohmann::json& family : database.at("families")) {
    for (const nlohmann::json& table : family.at("tables")) {
      ++tables;
      uint64_t blocks = 0, keys = 0, bits = 0;
      for (const nlohmann::json& group : table.at("groups")) {
        EXPECT_EQ(group.at("first"), blocks);
        blocks += group.at("blocks").get<uint64_t>();
        keys += group.at("keys").get<uint64_t>();
        bits += group.at("bits").get<uint64_t>();
        EXPECT_GT(group.at("fill"), 0);
        EXPECT_LT(group.at("fill"), 1);
      }
      EXPECT_EQ(table.at("blocks"), blocks);
      EXPECT_EQ(table.at("keys"), keys);
      EXPECT_EQ(table.at("lane_bits"), bits);
      EXPECT_GT(table.at("rate"), 0);
      EXPECT_LT(table.at("rate"), table.at("lane_rate")) << table;
    }
    EXPECT_LT(family.at("absent_reads"), 0.2);
  }
  EXPECT_EQ(tables, Files(".sst").size());
}

TEST_F(FilterPageTest, WhatCannotBeShownWritesNothing) {
  MakeDatabase();
  FlipByte(Files(".sst").front(), 0.3);
  const Outcome damaged = RunSepal({"filter", "page", db_, "--output", page_});
  EXPECT_EQ(damaged.exit, kExitDamage);
  EXPECT_TRUE(Has(damaged.err, "sepal db repair " + db_ + " --dry-run")) << damaged.err;
  EXPECT_EQ(RunSepal({"filter", "page", directory_.File("none"), "--output", page_}).exit, kExitError);
  std::ofstream(directory_.File("text")) << "no filter\n";
  EXPECT_EQ(RunSepal({"filter", "page", directory_.File("text"), "--output", page_}).exit, kExitError);
  EXPECT_FALSE(std::filesystem::exists(page_));
}

TEST_F(FilterPageTest, ItsCellsAreThoseOfTheLibrary) {
  if (!HaveProgram("chromium")) GTEST_SKIP() << "there is no chromium";
  MakePage();
  const nlohmann::json out = Play(R"(
at("clear").click();
set("hashcount", 5);
set("cellcount", 300);
for (const layout of ["classic", "partitioned", "blocked"]) {
  set("layout", layout);
  if (layout === "classic") for (const word of ["apple", "\u00fcber", "a b"]) { set("word", word); at("add").click() }
  out[layout] = [...document.querySelectorAll(".cell")].map((cell) => cell.textContent).join("");
})");
  for (const auto& [name, layout] : {std::pair{"classic", BloomLayout::kClassic},
                                     {"partitioned", BloomLayout::kPartitioned},
                                     {"blocked", BloomLayout::kBlocked}}) {
    const std::string cells = out.at(name);
    BloomFilter filter = BloomFilter::Create({.layout = layout, .bits = cells.size(), .probes = 5}).value();
    for (const char* word : {"apple", "\u00fcber", "a b"}) filter.Add(word);
    const std::string file = filter.Serialize();
    for (size_t i = 0; i < cells.size(); ++i) {
      EXPECT_EQ(cells[i] - '0', file[64 + i / 8] >> (i % 8) & 1) << name << " " << i;
    }
  }
}

TEST_F(FilterPageTest, ItsTheoryIsThatOfTheLibrary) {
  if (!HaveProgram("chromium")) GTEST_SKIP() << "there is no chromium";
  MakePage();
  const nlohmann::json out = Play(R"(
out.rates = [];
for (const layout of ["classic", "blocked", "partitioned"]) for (const n of [1, 100, 12345, 1e7]) for (const bits of [3, 10, 24])
  for (const k of [1, 4, 8]) out.rates.push({layout, n, m: 512 * Math.ceil(n * bits / 512), k});
for (const r of out.rates) { r.rate = rateAt(r.layout, r.n, r.m, r.k); r.best = bestProbes(r.layout, r.n, r.m) }
out.bits = ["classic", "blocked"].map((layout) => { set("size-layout", layout); set("field-n", "1M"); set("field-p", "0.001");
  return Number(at("field-m").value) });
set("follows", "n"); out.keys = Number(at("field-n").value);
set("follows", "p"); set("field-m", "8M"); out.rate = Number(at("field-p").value);
at("field-n").value = "many"; at("field-n").dispatchEvent(new Event("input")); out.invalid = at("field-n").getAttribute("aria-invalid");
at("field-n").dispatchEvent(new Event("change")); out.refused = at("sizes-told").textContent; out.stays = at("field-n").value;)");
  for (const nlohmann::json& r : out.at("rates")) {
    const BloomLayout layout = r.at("layout") == "classic"   ? BloomLayout::kClassic
                               : r.at("layout") == "blocked" ? BloomLayout::kBlocked
                                                             : BloomLayout::kPartitioned;
    const BloomShape shape{.layout = layout, .bits = r.at("m"), .probes = r.at("k")};
    const double theory = shape.RateAt(r.at("n"));
    EXPECT_NEAR(r.at("rate").get<double>(), theory, theory * 1e-6 + 1e-15) << r;
    EXPECT_EQ(r.at("best"), std::min(32, BloomShape::OfBits(r.at("n"), r.at("m"), layout)->probes)) << r;
  }
  const auto bits = [](BloomLayout layout) {
    return static_cast<double>(BloomShape::For(1'000'000, 0.001, layout)->bits);
  };
  EXPECT_NEAR(out.at("bits").at(0).get<double>(), bits(BloomLayout::kClassic), 64);
  EXPECT_NEAR(out.at("bits").at(1).get<double>(), bits(BloomLayout::kBlocked), 512);
  EXPECT_EQ(out.at("refused"), "\u201cmany\u201d is no number of keys: 1 to 1G, as in 1000, 10k or 1.5M. It stays " +
                                   out.at("stays").get<std::string>() + ".");
  EXPECT_NEAR(out.at("keys").get<double>(), 1e6, 200);
  EXPECT_GT(out.at("rate"), 0.02);
  EXPECT_EQ(out.at("invalid"), "true");
}

TEST_F(FilterPageTest, DeletingLosesANeighbourInBitsAndNoneInCounters) {
  if (!HaveProgram("chromium")) GTEST_SKIP() << "there is no chromium";
  MakePage();
  const nlohmann::json out = Play(R"(
const told = () => at("told").textContent, lost = () => document.querySelectorAll("#words .lost").length;
at("step2").click(); out.absent = told();
at("step3").click(); out.maybe = told();
at("step4").click(); out.bits = told(); out.lost = lost();
at("step5").click(); out.counters = told(); out.kept = lost();
at("undo").click(); out.undone = document.querySelectorAll("#words li").length;
const before = [...document.querySelectorAll(".cell")].map((cell) => cell.textContent).join();
set("word", "certainly not there, long as it is"); at("delete").click(); out.refused = told();
out.same = before === [...document.querySelectorAll(".cell")].map((cell) => cell.textContent).join();
out.held = document.querySelectorAll("#words li").length; at("clear").click(); at("undo").click();
out.back = document.querySelectorAll("#words li").length; at("clear").click(); set("cells", "bits");
set("word", "unseen"); at("delete").click(); out.unseen = told();
set("word", "y".repeat(400)); at("add").click(); out.wide = document.documentElement.scrollWidth <= window.innerWidth; at("clear").click();
set("word", "\u003cb>x"); at("add").click(); at("add").click(); out.twice = told();
out.words = document.querySelectorAll("#words li").length; out.markup = document.querySelectorAll("#words b").length;)");
  EXPECT_TRUE(Has(out.at("absent"), "is absent, for bit") && Has(out.at("absent"), "That is certain.")) << out;
  EXPECT_TRUE(Has(out.at("maybe"), "It was not: a false positive.")) << out;
  EXPECT_TRUE(Has(out.at("bits"), "vanished with it")) << out;
  EXPECT_GE(out.at("lost"), 1);
  EXPECT_TRUE(Has(out.at("counters"), "No other word is lost.")) << out;
  EXPECT_EQ(out.at("kept"), 0);
  EXPECT_GE(out.at("undone"), 5);
  EXPECT_TRUE(Has(out.at("refused"), "certainly not there: nothing is changed")) << out;
  EXPECT_EQ(out.at("same"), true);
  EXPECT_EQ(out.at("back"), out.at("held")) << "what was emptied can be had again";
  EXPECT_TRUE(Has(out.at("unseen"), "certainly not there: nothing is changed")) << out;
  EXPECT_EQ(out.at("wide"), true) << "a long word makes the page no wider";
  EXPECT_TRUE(Has(out.at("twice"), "It was there already.")) << out;
  EXPECT_EQ(out.at("words"), 1);
  EXPECT_EQ(out.at("markup"), 0);
}

TEST_F(FilterPageTest, WhatIsMeasuredAgreesWithTheory) {
  if (!HaveProgram("chromium")) GTEST_SKIP() << "there is no chromium";
  MakePage();
  const nlohmann::json out =
      Play("set(\"field-p\", \"0.03\"); setTimeout(() => { out.seen = sizes.seen; save() }, 20000);",
           {.virtual_seconds = 30});
  ASSERT_EQ(out.at("seen").size(), 8u);
  for (const nlohmann::json& point : out.at("seen")) {
    const double expected = point.at("theory").get<double>() * point.at("asked").get<double>();
    EXPECT_NEAR(point.at("maybe").get<double>(), expected, 6 * std::sqrt(expected) + 0.1 * expected + 3) << point;
    EXPECT_NEAR(point.at("fill").get<double>(), point.at("fillTheory").get<double>(), 0.02) << point;
  }
}

TEST_F(FilterPageTest, ItIsUsedByKeyboardInLightAndDark) {
  if (!HaveProgram("chromium")) GTEST_SKIP() << "there is no chromium";
  MakePage();
  const std::string script = R"(
const press = (key) => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true}));
const here = () => Number(document.activeElement.dataset.cell);
out.stops = document.querySelectorAll(".cell[tabindex='0']").length;
document.querySelector(".cell[tabindex='0']").focus();
press("ArrowRight"); out.right = here(); press("ArrowDown"); out.down = here(); press("End"); out.end = here();
press("ArrowRight"); out.stays = here(); press("Home"); out.home = here();
out.told = at("celltold").textContent; out.named = document.activeElement.getAttribute("aria-label");
out.unnamed = [...document.querySelectorAll("input,select,button")].filter((n) => !n.labels?.length &&
  !n.getAttribute("aria-label") && !n.textContent.trim()).map((n) => n.id);
document.querySelector("[data-remove]").focus(); document.activeElement.click(); out.kept = "remove" in document.activeElement.dataset;
out.color = getComputedStyle(document.body).backgroundColor;)";
  const nlohmann::json light = Play(script),
                       dark = Play("out.color = getComputedStyle(document.body).backgroundColor;", {.dark = true});
  EXPECT_EQ(light.at("stops"), 1);
  EXPECT_EQ(light.at("right"), 1);
  EXPECT_TRUE(light.at("down") == 33 || light.at("down") == 17) << light;
  EXPECT_EQ(light.at("end"), 127);
  EXPECT_EQ(light.at("stays"), 127);
  EXPECT_EQ(light.at("home"), 0);
  EXPECT_EQ(light.at("told"), light.at("named"));
  EXPECT_EQ(light.at("unnamed"), nlohmann::json::array());
  EXPECT_EQ(light.at("kept"), true);
  EXPECT_EQ(light.at("color"), "rgb(255, 255, 255)");
  EXPECT_EQ(dark.at("color"), "rgb(17, 17, 19)");
}

TEST_F(FilterPageTest, ItFitsANarrowScreen) {
  if (!HaveProgram("chromium")) GTEST_SKIP() << "there is no chromium";
  MakeRichDatabase();
  MakePage(db_);
  // A window of the browser cannot be so narrow, but a frame can.
  const nlohmann::json out =
      Play("const page = atob(\"" + absl::Base64Escape(Slurp(page_)) + R"("), frame = document.createElement("iframe");
frame.style.width = "420px";
frame.srcdoc = new TextDecoder().decode(Uint8Array.from(page, (c) => c.charCodeAt(0)));
frame.onload = () => {
  const inner = frame.contentDocument;
  out.width = inner.documentElement.scrollWidth; out.most = frame.clientWidth;
  const tops = new Set([...inner.querySelectorAll(".cell")].map((cell) => Math.round(cell.getBoundingClientRect().top)));
  out.lines = tops.size;
  save();
};
document.body.append(frame);)",
           {.virtual_seconds = 10});
  EXPECT_LE(out.at("width"), out.at("most")) << out;
  EXPECT_EQ(out.at("lines"), 128 / 16);
}

TEST_F(FilterPageTest, AFilterThatIsGivenAnswersInThePage) {
  if (!HaveProgram("chromium")) GTEST_SKIP() << "there is no chromium";
  filters::AnyFilter filter = filters::CountingBloomFilter::ForKeys(1000, 0.05, 4, /*seed=*/9).value();
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(filters::Add(&filter, Key(i)).ok());
  Write(filter);
  MakePage(filter_);
  const nlohmann::json out = Play(R"(
out.answers = []; out.agrees = true; out.map = document.querySelectorAll(".map rect").length;
for (let i = 900; i < 1100; ++i) {
  set("given-word", "key" + String(i).padStart(4, "0"));
  const maybe = at("given-told").textContent.includes("perhaps there");
  const cells = [...document.querySelectorAll("#given-probes strong")].map((cell) => Number(cell.textContent));
  out.agrees &&= maybe === cells.every((cell) => cell > 0) && cells.length > 0;
  out.answers.push(maybe);
})");
  EXPECT_EQ(out.at("agrees"), true);
  EXPECT_EQ(out.at("map"), 1024);
  for (int i = 900; i < 1100; ++i) {
    EXPECT_EQ(out.at("answers").at(static_cast<size_t>(i - 900)), filters::MayContain(filter, Key(i)).value()) << i;
  }
}

TEST_F(FilterPageTest, ADatabasesTablesAreChosenInThePage) {
  if (!HaveProgram("chromium")) GTEST_SKIP() << "there is no chromium";
  MakeRichDatabase();
  MakePage(db_);
  const nlohmann::json out = Play(R"(
out.tables = document.querySelectorAll("#database tbody tr").length;
const last = [...document.querySelectorAll("[data-table]")].at(-1);
last.click();
out.chosen = document.querySelector("tr.chosen [data-table]") === last && last.getAttribute("aria-pressed") === "true";
out.bars = document.querySelectorAll("#blocks .bar").length;
out.groups = data.database.families.flatMap((family) => family.tables).at(-1).groups.length;)");
  EXPECT_EQ(out.at("tables"), Files(".sst").size());
  EXPECT_EQ(out.at("chosen"), true);
  EXPECT_EQ(out.at("bars"), out.at("groups"));
}

}  // namespace
}  // namespace sepal::tools
