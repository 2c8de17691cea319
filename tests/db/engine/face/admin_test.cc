// What administration and explanation say of states and calls that are rare: missing and changed files, ranges, levels,
// closed databases, memtables that wait; and the events of the C interface.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "db/c/c_types.h"
#include "sepal/c.h"
#include "sepal/event_listener.h"
#include "tests/db/engine/engine_fixture.h"

namespace sepal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Answer = ExplainedSource::Answer;
using Kind = ExplainedSource::Kind;

class AdminTest : public EngineTest {
 protected:
  GetExplanation Explain(std::string_view key) {
    absl::StatusOr<GetExplanation> explanation = db()->ExplainGet(key);
    EXPECT_OK(explanation.status());
    return explanation.ok() ? *explanation : GetExplanation();
  }
};

// --- consistency, sizes, properties ---

TEST_F(AdminTest, SizesAreOfMemoryAndOfThePartsOfTablesThatARangeMeets) {
  Fill(0, 300);
  ASSERT_OK(db()->CompactRange());
  Fill(300, 320);
  const auto size = [&](std::string_view begin, std::string_view end) {
    const Range range{begin, end};
    return db()->GetApproximateSizes({&range, 1}).value().front();
  };
  const uint64_t all = size("", "z");
  EXPECT_GT(all, 1000u);
  EXPECT_EQ(size("z", ""), 0u);
  EXPECT_EQ(size("a", "b"), 0u);
  EXPECT_NEAR(static_cast<double>(size(NumberedKey(10), NumberedKey(160))), static_cast<double>(all) / 2,
              0.3 * static_cast<double>(all));
  EXPECT_EQ(size(NumberedKey(10), NumberedKey(10) + "0"), 0u) << "within one block";
  EXPECT_EQ(db()->GetApproximateSizes({}).value().size(), 0u);
  // Memtables that wait for their flush count.
  ASSERT_OK(db()->PauseBackgroundWork());
  const uint64_t before = size("", "z");
  Fill(400, 560, 60);
  EXPECT_GT(size("", "z"), before + 5'000);
  ASSERT_OK(db()->ContinueBackgroundWork());
}

TEST_F(AdminTest, SizesNeedTheTablesThatTheyCutThrough) {
  Fill(0, 300);
  ASSERT_OK(db()->CompactRange());
  ASSERT_OK(database.Reopen());
  const std::string begin = NumberedKey(10), end = NumberedKey(150);
  const Range range{begin, end};
  const auto sizes = [&] { return db()->GetApproximateSizes({&range, 1}); };
  for (uint64_t skip = 0; skip < 3; ++skip) {
    database.files.Inject(
        {.fault = Fault::kIoError, .op = skip == 0 ? FileOp::kOpenRead : FileOp::kRead, .skip = skip});
    EXPECT_TRUE(absl::IsInternal(sizes().status()) || skip == 2) << skip;
    database.files.Clear();
  }
  ASSERT_OK(sizes().status());
  EXPECT_GT(sizes()->front(), 0u);
}

// --- destroying and listing ---

TEST_F(AdminTest, ADestroyThatFailsIsToldAndAnotherOneEndsIt) {
  ASSERT_OK(database.memory.OpenDirectory("/logs", true).status());
  ASSERT_OK(db()->Close());
  database.db.reset();
  const auto make = [](TestDatabase* made) {
    made->options.log_directory = "/logs";
    EXPECT_OK(made->Open());
    EXPECT_OK(made->db->Put("k", "v"));
    EXPECT_OK(made->db->Flush());
    EXPECT_OK(made->db->Close());
    made->db.reset();
    EXPECT_OK(made->memory.WriteFileContents("/logs/notes.txt", "theirs"));
    EXPECT_OK(made->memory.WriteFileContents("/logs/000077.sst", "no log"));
  };
  uint64_t calls = 0;
  {
    TestDatabase made;
    make(&made);
    const uint64_t before = made.files.CallCount();
    ASSERT_OK(DB::Destroy(made.options, "/db"));
    calls = made.files.CallCount() - before;
    EXPECT_THAT(FilesIn(&made.memory, "/logs"), ElementsAre("000077.sst", "notes.txt"));
    EXPECT_THAT(FilesIn(&made.memory, "/db"), IsEmpty());
    ASSERT_OK(DB::Destroy(made.options, "/db"));
  }
  for (uint64_t skip = 0; skip < calls; ++skip) {
    TestDatabase made;
    make(&made);
    made.files.Inject({.fault = Fault::kIoError, .skip = skip});
    const absl::Status status = DB::Destroy(made.options, "/db");
    made.files.Clear();
    // Of some calls nothing depends on how they end.
    EXPECT_TRUE(status.ok() ? FilesIn(&made.memory, "/db").empty() : absl::IsInternal(status))
        << skip << " of " << calls << ": " << status;
    ASSERT_OK(DB::Destroy(made.options, "/db"));
    EXPECT_THAT(FilesIn(&made.memory, "/db"), IsEmpty());
  }
}

// --- explanations ---

TEST_F(AdminTest, AnExplanationAsksMemtablesThatWaitAndSaysWhatTheyAnswer) {
  ASSERT_OK(db()->PauseBackgroundWork());
  ASSERT_OK(db()->Put("here", "value"));
  ASSERT_OK(db()->Delete("gone"));
  Fill(0, 300, 60);
  GetExplanation e = Explain("here");
  ASSERT_TRUE(e.found);
  EXPECT_EQ(e.sources.back().kind, Kind::kImmutableMemtable);
  EXPECT_THAT(e.ToString(), HasSubstr("immutable memtable: found at sequence 1"));
  e = Explain("gone");
  EXPECT_FALSE(e.found);
  EXPECT_EQ(e.sources.back().answer, Answer::kDeleted);
  EXPECT_THAT(e.ToString(), HasSubstr("immutable memtable: deleted at sequence 2"));
  EXPECT_THAT(Explain("nowhere").ToString(), HasSubstr("active memtable: not there"));
  ASSERT_OK(db()->ContinueBackgroundWork());
}

TEST_F(AdminTest, AnExplanationSaysWhichFilterRuledAKeyOutAndWhereThereIsNone) {
  Fill(0, 300);
  ASSERT_OK(db()->CompactRange());
  std::map<Answer, std::string> texts;
  for (int i = 0; i < 20'000 && texts.size() < 3; ++i) {
    const GetExplanation e = Explain(NumberedKey(i % 300) + std::to_string(i));
    if (!e.found && e.sources.back().kind == Kind::kTable) texts.emplace(e.sources.back().answer, e.ToString());
  }
  ASSERT_THAT(texts, SizeIs(3)) << "guard, lane, and a false positive of both";
  EXPECT_THAT(texts[Answer::kGuardSaysNo], HasSubstr("ruled out by its guard"));
  EXPECT_THAT(texts[Answer::kLaneSaysNo], HasSubstr("not there: the block is not touched"));
  EXPECT_THAT(texts[Answer::kAbsent], HasSubstr("does not hold the key: a false positive"));

  ColumnFamilyOptions plain = database.options.family;
  plain.filter_policy = FilterPolicy::None();
  const std::shared_ptr<ColumnFamily> family = db()->CreateColumnFamily("plain", plain).value();
  ASSERT_OK(db()->Put(*family, "k", "v"));
  ASSERT_OK(db()->Flush(*family));
  const std::string text = db()->ExplainGet(*family, "k").value().ToString();
  EXPECT_THAT(text, HasSubstr("guard: none"));
  EXPECT_THAT(text, HasSubstr("lane: none"));
  EXPECT_THAT(text, HasSubstr("found, 1 bytes"));
}

TEST_F(AdminTest, AnExplanationNeedsItsTablesAndALiveSnapshot) {
  Fill(0, 100);
  ASSERT_OK(db()->CompactRange());
  ASSERT_OK(database.Reopen());
  database.files.Inject({.fault = Fault::kIoError, .op = FileOp::kOpenRead});
  EXPECT_TRUE(absl::IsInternal(db()->ExplainGet(NumberedKey(5)).status()));
  database.files.Clear();
  EXPECT_TRUE(Explain(NumberedKey(5)).found);
  const std::unique_ptr<DB> other = database.OpenReadOnly().value();
  const std::shared_ptr<const Snapshot> foreign = other->GetSnapshot();
  EXPECT_TRUE(absl::IsInvalidArgument(db()->ExplainGet("k", {.snapshot = foreign.get()}).status()));
  const std::shared_ptr<ColumnFamily> family = other->FindColumnFamily("default").value();
  EXPECT_TRUE(absl::IsInvalidArgument(db()->ExplainGet(*family, "k").status()));
}

// --- the events of the C interface ---

void Note(void* state, std::string text) { static_cast<std::vector<std::string>*>(state)->push_back(std::move(text)); }
std::string TextOr(const char* text) { return text == nullptr ? "none" : text; }

TEST(CListenerTest, EachEventIsPassedOnWithItsFieldsAndThoseThatAreNotWantedAreNot) {
  std::vector<std::string> told;
  sepal_listener_t c = {};
  c.state = &told;
  c.flush_begin = c.flush_end = [](void* state, const sepal_flush_event_t* e) {
    Note(state, std::string("flush ") + e->column_family + " " + TextOr(e->error));
  };
  c.compaction_begin = c.compaction_end = [](void* state, const sepal_compaction_event_t* e) {
    Note(state, std::string("compaction ") + e->reason + " " + TextOr(e->error));
  };
  c.throttle_change = [](void* state, const char* reason, uint64_t bytes) {
    Note(state, std::string("throttle ") + reason + " " + std::to_string(bytes));
  };
  c.slow_disk = [](void* state, const char* path, const char* operation, uint64_t micros) {
    Note(state, std::string("disk ") + path + " " + operation + " " + std::to_string(micros));
  };
  c.error = [](void* state, const char* context, const char* message) {
    Note(state, std::string("error ") + context + " " + message);
  };
  c.slow_call = [](void* state, const sepal_slow_call_event_t* e) {
    Note(state, std::string("call ") + e->call + " " + std::string(e->key, e->keylen));
  };
  c.damage = [](void* state, const sepal_damage_event_t* e) {
    const auto key = [](const char* bytes, size_t size) {
      return bytes == nullptr ? "none" : std::string(bytes, size);
    };
    Note(state, std::string("damage ") + e->column_family + " " + std::to_string(e->file_number) + " " +
                    key(e->after, e->afterlen) + " " + key(e->through, e->throughlen));
  };
  const sepal_listener_t nothing_wanted = {};
  sepal_options_t* const options = sepal_options_create();
  sepal_options_add_listener(options, &c, sizeof c);
  sepal_options_add_listener(options, &nothing_wanted, sizeof nothing_wanted);
  ASSERT_THAT(options->rep.listeners, SizeIs(2));
  for (const auto& listener : options->rep.listeners) {
    listener->OnFlushBegin({.column_family = "f"});
    listener->OnFlushEnd({.column_family = "f", .status = absl::InternalError("full")});
    listener->OnCompactionBegin({.reason = "size"});
    listener->OnCompactionEnd({.reason = "size", .status = absl::InternalError("full")});
    listener->OnThrottleChange({.reason = "runs", .bytes_per_second = 5});
    listener->OnSlowDisk({.path = "p", .operation = "sync", .micros = 9});
    listener->OnError("log", absl::InternalError("gone"));
    listener->OnSlowCall({.call = "get", .key = "k"});
    listener->OnDamage({.column_family = "f", .file_number = 7, .status = absl::DataLossError("bad")});
    listener->OnDamage({.column_family = "f", .file_number = 8, .after = "a", .through = "b"});
  }
  EXPECT_THAT(told, ElementsAre("flush f none", "flush f INTERNAL: full", "compaction size none",
                                "compaction size INTERNAL: full", "throttle runs 5", "disk p sync 9",
                                "error log INTERNAL: gone", "call get k", "damage f 7 none none", "damage f 8 a b"));
  sepal_options_destroy(options);
}

}  // namespace
}  // namespace sepal
