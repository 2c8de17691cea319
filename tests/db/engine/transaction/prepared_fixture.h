// A small database for tests of prepared transactions.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/db/engine/engine_fixture.h"

namespace sepal {

// Whether a transaction holds a lock of the key.
inline bool IsLockedIn(DB* db, std::string_view key) {
  const std::unique_ptr<Transaction> txn =
      db->BeginTransaction({.locking = Locking::kPessimistic, .lock_timeout = std::chrono::milliseconds(0)}).value();
  const absl::Status status = txn->GetForUpdate(key).status();
  EXPECT_TRUE(status.ok() || absl::IsNotFound(status) || absl::IsDeadlineExceeded(status)) << status;
  return absl::IsDeadlineExceeded(status);
}

class PreparedTest : public EngineTest {
 protected:
  void SetUp() override {
    database.options.family.merge_operator = MergeOperators::Append();
    EngineTest::SetUp();
  }
  std::unique_ptr<Transaction> Begin(const TransactionOptions& options = {}) {
    return db()->BeginTransaction(options).value();
  }
  std::unique_ptr<Transaction> Find(std::string_view name) { return db()->FindPrepared(name).value(); }
  static std::vector<std::string> NamesIn(DB* db) {
    std::vector<std::string> names;
    const std::vector<PreparedTransaction> list = db->PreparedTransactions().value();
    for (const PreparedTransaction& prepared : list) names.push_back(prepared.name);
    return names;
  }
  std::vector<std::string> Names() { return NamesIn(db()); }
  // Prepares a transaction that puts `key`, and destroys its object.
  void PrepareOne(std::string_view name, std::string_view key = "a", std::string_view value = "1") {
    const std::unique_ptr<Transaction> txn = Begin();
    ASSERT_OK(txn->Put(key, value));
    ASSERT_OK(txn->Prepare(name));
  }
  bool IsLocked(std::string_view key) { return IsLockedIn(db(), key); }
  size_t Charged() { return database.Metrics().MemoryBytes(MemoryPart::kTransactions); }
};

}  // namespace sepal
