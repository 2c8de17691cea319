// sepal txn list|commit|rollback.
#include "tests/tools/sepal_command_fixture.h"

namespace sepal::tools {
namespace {

// Prepares one transaction for each name, which puts the name's key.
void PrepareIn(const std::string& directory, const std::vector<std::string>& names) {
  const std::unique_ptr<DB> db =
      DB::Open({.create_if_missing = true, .memory_limit = size_t{8} << 20}, directory).value();
  for (const std::string& name : names) {
    const std::unique_ptr<Transaction> txn = db->BeginTransaction().value();
    ASSERT_TRUE(txn->Put(name, "1").ok());
    ASSERT_TRUE(txn->Prepare(name).ok());
  }
  ASSERT_TRUE(db->Close().ok());
}

TEST_F(SepalCommandTest, PreparedTransactionsAreListedCommittedAndRolledBack) {
  PrepareIn(db_, {"order-17", "order 18"});
  const Outcome listed = RunSepal({"txn", "list", db_});
  EXPECT_EQ(listed.exit, kExitOk) << listed.err;
  EXPECT_TRUE(Has(listed.out, "order 18\tprepared 20") && Has(listed.out, "\tage ")) << listed.out;
  EXPECT_TRUE(Has(listed.out, "\t1 updates\t") && Has(listed.out, "\t1 locks\n")) << listed.out;
  const nlohmann::json all = LastJson(RunSepal({"txn", "list", db_, "--json"}).out);
  EXPECT_EQ(all.value("schema_version", 0), kJsonSchemaVersion);
  EXPECT_EQ(all.value("command", ""), "txn list");
  ASSERT_EQ(all.at("prepared").size(), 2u);
  EXPECT_EQ(all.at("prepared")[1].at("name").at("utf8"), "order-17");
  EXPECT_EQ(all.at("prepared")[1].at("locks"), 1);
  EXPECT_GE(all.at("prepared")[1].at("age_seconds").get<double>(), 0.0);
  EXPECT_TRUE(Has(RunSepal({"db", "property", db_, "prepared-transactions"}).out, "\"order-17\": prepared at "));
  EXPECT_FALSE(Has(RunSepal({"db", "families", db_}).out, "\n\n"));
  EXPECT_EQ(RunSepal({"db", "families", db_}).out, "default\n");

  const Outcome locked = RunSepal({"db", "put", db_, "order-17", "2"});
  EXPECT_EQ(locked.exit, kExitError);
  EXPECT_TRUE(Has(locked.err, "is locked by a transaction")) << locked.err;
  const Outcome unknown = RunSepal({"txn", "commit", db_, "order-19"});
  EXPECT_EQ(unknown.exit, kExitError);
  EXPECT_TRUE(Has(unknown.err, "there is no prepared transaction \"order-19\"")) << unknown.err;

  const Outcome committed = RunSepal({"txn", "commit", db_, "order-17", "--json"});
  EXPECT_EQ(committed.exit, kExitOk) << committed.err;
  EXPECT_EQ(LastJson(committed.out).at("committed").at("utf8"), "order-17");
  EXPECT_EQ(RunSepal({"txn", "rollback", db_, "order 18"}).exit, kExitOk);
  EXPECT_EQ(RunSepal({"txn", "list", db_}).out, "");
  EXPECT_EQ(RunSepal({"db", "get", db_, "order-17"}).out, "1");
  EXPECT_EQ(RunSepal({"db", "get", db_, "order 18"}).exit, kExitError);
}

}  // namespace
}  // namespace sepal::tools
