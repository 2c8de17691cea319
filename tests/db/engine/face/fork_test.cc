// Each public call in a child made by `fork`: it refuses, or gives the answer that sepal/db.h names, and it does not
// wait, whatever the parent's threads were doing.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sepal/indexed_batch.h"
#include "tests/child_exit.h"
#include "tests/db/engine/engine_fixture.h"
#include "tests/db/engine/face/held_flush.h"

namespace sepal {
namespace {

// What the parent had when it forked.
struct BeforeFork {
  DB* db = nullptr;
  std::string path;
  std::shared_ptr<ColumnFamily> family;
  std::shared_ptr<const Snapshot> snapshot;
  std::unique_ptr<Iterator> iterator;
  std::unique_ptr<Iterator> unused_iterator;
  std::unique_ptr<Transaction> transaction;
  std::unique_ptr<Iterator> of_transaction;
  std::unique_ptr<IndexedBatch> batch;
  std::unique_ptr<Iterator> of_batch;
  PinnedValue value;
};

struct ForkedCall {
  const char* name;
  // Whether the answer is the one that is documented.
  bool (*is_refused)(BeforeFork* it);
};

bool Refused(const absl::Status& status) {
  return absl::IsFailedPrecondition(status) && status.message().find("fork") != absl::string_view::npos;
}

bool RefusesSeek(Iterator* iterator, void (*seek)(Iterator*)) {
  seek(iterator);
  return !iterator->Valid() && Refused(iterator->status());
}

const ForkedCall kForkedCalls[] = {
    {"Put", [](BeforeFork* it) { return Refused(it->db->Put("k", "v")); }},
    {"synced Put", [](BeforeFork* it) { return Refused(it->db->Put("k", "v", {.sync = true})); }},
    {"Delete", [](BeforeFork* it) { return Refused(it->db->Delete(*it->family, "k")); }},
    {"SingleDelete", [](BeforeFork* it) { return Refused(it->db->SingleDelete("k")); }},
    {"Write",
     [](BeforeFork* it) {
       WriteBatch batch;
       batch.Put("k", "v");
       return Refused(it->db->Write(batch));
     }},
    {"Get", [](BeforeFork* it) { return Refused(it->db->Get("k").status()); }},
    {"Get of a family", [](BeforeFork* it) { return Refused(it->db->Get(*it->family, "k").status()); }},
    {"Get with a snapshot",
     [](BeforeFork* it) { return Refused(it->db->Get("k", {.snapshot = it->snapshot.get()}).status()); }},
    {"Get as of a sequence number",
     [](BeforeFork* it) { return Refused(it->db->Get(*it->family, "k", {.as_of_sequence = 1}).status()); }},
    {"Get as of a time",
     [](BeforeFork* it) {
       return Refused(it->db->Get(*it->family, "k", {.as_of_time = std::chrono::system_clock::now()}).status());
     }},
    {"History", [](BeforeFork* it) { return Refused(it->db->History(*it->family, "k").status()); }},
    {"Get into a pinned value",
     [](BeforeFork* it) { return Refused(it->db->Get("k", it->value)) && it->value.value().empty(); }},
    {"MultiGet",
     [](BeforeFork* it) {
       const std::vector<std::string_view> keys = {"k", "l"};
       std::vector<PinnedValue> values(2);
       std::vector<absl::Status> statuses(2);
       it->db->MultiGet(keys, values, statuses).IgnoreError();
       return Refused(statuses[0]) && Refused(statuses[1]);
     }},
    {"MultiGet of copies",
     [](BeforeFork* it) {
       const std::vector<std::string_view> keys = {"k"};
       return Refused(it->db->MultiGet(keys)[0].status());
     }},
    {"KeyMayExist", [](BeforeFork* it) { return it->db->KeyMayExist("is not there"); }},
    {"NewIterator",
     [](BeforeFork* it) {
       return RefusesSeek(it->db->NewIterator().get(), [](Iterator* iterator) { iterator->SeekToFirst(); });
     }},
    {"Iterator::Valid", [](BeforeFork* it) { return !it->iterator->Valid() && Refused(it->iterator->status()); }},
    {"Iterator::SeekToFirst",
     [](BeforeFork* it) {
       return RefusesSeek(it->unused_iterator.get(), [](Iterator* iterator) { iterator->SeekToFirst(); });
     }},
    {"Iterator::SeekToLast",
     [](BeforeFork* it) {
       return RefusesSeek(it->unused_iterator.get(), [](Iterator* iterator) { iterator->SeekToLast(); });
     }},
    {"Iterator::Seek",
     [](BeforeFork* it) { return RefusesSeek(it->iterator.get(), [](Iterator* iterator) { iterator->Seek("k"); }); }},
    {"Iterator::SeekForPrev",
     [](BeforeFork* it) {
       return RefusesSeek(it->iterator.get(), [](Iterator* iterator) { iterator->SeekForPrev("k"); });
     }},
    {"Iterator::Next",
     [](BeforeFork* it) { return RefusesSeek(it->iterator.get(), [](Iterator* iterator) { iterator->Next(); }); }},
    {"Iterator::Prev",
     [](BeforeFork* it) { return RefusesSeek(it->iterator.get(), [](Iterator* iterator) { iterator->Prev(); }); }},
    {"GetSnapshot",
     [](BeforeFork* it) {
       std::shared_ptr<const Snapshot> snapshot = it->db->GetSnapshot();
       return snapshot->sequence() > 0 && Refused(it->db->Get("k", {.snapshot = snapshot.get()}).status());
     }},
    {"PutIfAbsent", [](BeforeFork* it) { return Refused(it->db->PutIfAbsent("k", "v").status()); }},
    {"BeginTransaction", [](BeforeFork* it) { return Refused(it->db->BeginTransaction().status()); }},
    {"Transaction's Put", [](BeforeFork* it) { return Refused(it->transaction->Put("k", "v")); }},
    {"Transaction's Get", [](BeforeFork* it) { return Refused(it->transaction->Get("k").status()); }},
    {"Transaction's Commit", [](BeforeFork* it) { return Refused(it->transaction->Commit()); }},
    {"Transaction's Rollback", [](BeforeFork* it) { return Refused(it->transaction->Rollback()); }},
    {"Transaction's iterator's end", [](BeforeFork* it) { return it->of_transaction.reset(), true; }},
    {"Transaction's end", [](BeforeFork* it) { return it->transaction.reset(), true; }},
    {"Transaction's Put of what expires",
     [](BeforeFork* it) { return Refused(it->transaction->Put("k", "v", {.ttl = std::chrono::hours(1)})); }},
    {"IndexedBatch's Put of what expires",
     [](BeforeFork* it) { return Refused(it->batch->Put("k", "v", {.ttl = std::chrono::hours(1)})); }},
    {"IndexedBatch's Put", [](BeforeFork* it) { return Refused(it->batch->Put("k", "v")); }},
    {"IndexedBatch's Get", [](BeforeFork* it) { return Refused(it->batch->Get("k").status()); }},
    {"IndexedBatch's end", [](BeforeFork* it) { return it->batch.reset(), it->of_batch.reset(), true; }},
    {"Snapshot's release", [](BeforeFork* it) { return it->snapshot.reset(), true; }},
    {"PinnedValue", [](BeforeFork* it) { return it->value.value() == std::string(5000, 'v'); }},
    {"DefaultColumnFamily", [](BeforeFork* it) { return it->db->DefaultColumnFamily().name() == "default"; }},
    {"ColumnFamily::name", [](BeforeFork* it) { return it->family->name() == "family"; }},
    {"CreateColumnFamily", [](BeforeFork* it) { return Refused(it->db->CreateColumnFamily("new").status()); }},
    {"DropColumnFamily", [](BeforeFork* it) { return Refused(it->db->DropColumnFamily(*it->family)); }},
    {"FindColumnFamily", [](BeforeFork* it) { return Refused(it->db->FindColumnFamily("family").status()); }},
    {"ColumnFamilyNames", [](BeforeFork* it) { return it->db->ColumnFamilyNames().empty(); }},
    {"Flush", [](BeforeFork* it) { return Refused(it->db->Flush()); }},
    {"Flush without waiting", [](BeforeFork* it) { return Refused(it->db->Flush({.wait = false})); }},
    {"Sync", [](BeforeFork* it) { return Refused(it->db->Sync()); }},
    {"CompactRange", [](BeforeFork* it) { return Refused(it->db->CompactRange()); }},
    {"WaitForBackgroundWork", [](BeforeFork* it) { return Refused(it->db->WaitForBackgroundWork()); }},
    {"PauseBackgroundWork", [](BeforeFork* it) { return Refused(it->db->PauseBackgroundWork()); }},
    {"ContinueBackgroundWork", [](BeforeFork* it) { return Refused(it->db->ContinueBackgroundWork()); }},
    {"Checkpoint", [](BeforeFork* it) { return Refused(it->db->Checkpoint(it->path + "-checkpoint")); }},
    {"Checkpoint onto a base",
     [](BeforeFork* it) {
       CheckpointOptions options;
       options.base = it->path + "-base";
       options.link_tables = false;
       return Refused(it->db->Checkpoint(it->path + "-checkpoint", options));
     }},
    {"Close", [](BeforeFork* it) { return Refused(it->db->Close()); }},
    {"GetProperty", [](BeforeFork* it) { return !it->db->GetProperty("sepal.stats").has_value(); }},
    {"GetProperty of a log", [](BeforeFork* it) { return !it->db->GetProperty("sepal.log").has_value(); }},
    {"GetProperty for Prometheus", [](BeforeFork* it) { return !it->db->GetProperty("sepal.prometheus").has_value(); }},
    {"GetProperties", [](BeforeFork* it) { return Refused(it->db->GetProperties().status()); }},
    {"ExplainGet", [](BeforeFork* it) { return Refused(it->db->ExplainGet("k").status()); }},
    {"GetApproximateSizes",
     [](BeforeFork* it) {
       const Range range = {"a", "z"};
       return Refused(it->db->GetApproximateSizes({&range, 1}).status());
     }},
    {"statistics",
     [](BeforeFork* it) {
       return it->db->statistics().Get(Ticker::kGets) > 0 && !it->db->statistics().ToString().empty();
     }},
    {"CheckConsistency", [](BeforeFork* it) { return Refused(it->db->CheckConsistency()); }},
    {"VerifyChecksums", [](BeforeFork* it) { return Refused(it->db->VerifyChecksums()); }},
};

// A child that waits for anything is ended by its alarm.
int StatusOfChild(const ForkedCall& call, BeforeFork* it) {
  constexpr unsigned kMostSeconds = 30;
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(kMostSeconds);
    ExitChild(call.is_refused(it) ? 0 : 1);
  }
  int status = -1;
  return ::waitpid(child, &status, 0) == child ? status : -1;
}

class ForkedCallTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    ASSERT_NE(::mkdtemp(root_), nullptr);
    options_.create_if_missing = true;
    options_.memory_limit = size_t{16} << 20;
    options_.listeners = {flush_};
    path_ = root_ + std::string("/db");
    ASSERT_NO_FATAL_FAILURE(OpenWriter());
  }
  void TearDown() override {
    ASSERT_OK(writer_->Close());
    writer_.reset();
    ASSERT_OK(DB::Destroy(options_, path_));
    EXPECT_EQ(::rmdir(root_), 0);  // nothing else was made
  }
  void OpenWriter() {
    absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(options_, path_);
    ASSERT_OK(db.status());
    writer_ = *std::move(db);
    ASSERT_OK(writer_->CreateColumnFamily("family", {.history = std::chrono::hours(1)}).status());
    ASSERT_OK(writer_->Put("k", std::string(5000, 'v')));
    ASSERT_OK(writer_->Put("l", "1"));
    ASSERT_OK(writer_->Put("m", "1"));
    ASSERT_OK(writer_->Flush());
    ASSERT_OK(writer_->WaitForBackgroundWork());
  }
  void TakeFrom(DB* db, BeforeFork* it) {
    it->db = db;
    it->path = path_;
    ASSERT_OK(db->FindColumnFamily("family").status());
    it->family = *db->FindColumnFamily("family");
    it->transaction = *writer_->BeginTransaction({.locking = Locking::kPessimistic});
    ASSERT_TRUE(it->transaction->Put("locked", "v").ok());
    it->of_transaction = it->transaction->NewIterator();
    it->batch = std::make_unique<IndexedBatch>(*db);
    ASSERT_TRUE(it->batch->Put("k", "v").ok());
    it->of_batch = it->batch->NewIterator();
    it->snapshot = db->GetSnapshot();
    it->iterator = db->NewIterator();
    it->iterator->Seek("l");
    ASSERT_TRUE(it->iterator->Valid());
    it->unused_iterator = db->NewIterator();
    ASSERT_OK(db->Get("k", it->value));
  }
  // A flush is under way in the parent from now on.
  void HoldAFlush() {
    flush_->holds.store(true);
    ASSERT_OK(writer_->Put("n", "1"));
    ASSERT_OK(writer_->Flush({.wait = false}));
    flush_->begun.WaitForNotification();
  }

  char root_[sizeof "/tmp/sepal_fork_test_XXXXXX"] = "/tmp/sepal_fork_test_XXXXXX";
  Options options_;
  std::string path_;
  const std::shared_ptr<HeldFlush> flush_ = std::make_shared<HeldFlush>();
  std::unique_ptr<DB> writer_;
};

TEST_P(ForkedCallTest, EveryCallInAForkedChildRefusesAndNoneWaits) {
  const bool read_only = GetParam();
  std::unique_ptr<DB> reader;
  if (read_only) {
    Options options = options_;
    options.read_only = true;
    options.create_if_missing = false;
    options.listeners.clear();
    absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(options, path_);
    ASSERT_OK(db.status());
    reader = *std::move(db);
  }
  {
    BeforeFork it;
    ASSERT_NO_FATAL_FAILURE(TakeFrom(read_only ? reader.get() : writer_.get(), &it));
    ASSERT_NO_FATAL_FAILURE(HoldAFlush());
    for (const ForkedCall& call : kForkedCalls) {
      const int status = StatusOfChild(call, &it);
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << call.name << ": " << status;
    }
    flush_->go_on.Notify();
  }
  // The parent lacks nothing.
  ASSERT_OK(writer_->WaitForBackgroundWork());
  EXPECT_EQ(Value(writer_.get(), "n"), "1");
  EXPECT_EQ(NumberProperty(writer_.get(), "sepal.num-entries"), 4u);
  ASSERT_OK(writer_->CheckConsistency());
}

INSTANTIATE_TEST_SUITE_P(OfADatabase, ForkedCallTest, ::testing::Bool(),
                         [](const auto& tested) { return tested.param ? "ReadOnly" : "Writable"; });

}  // namespace
}  // namespace sepal
