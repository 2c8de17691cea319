// sepal txn list|commit|rollback: transactions that were prepared and wait for the second phase.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <ostream>

#include "absl/strings/str_format.h"
#include "sepal/transaction.h"
#include "tools/sepal/database_access.h"
#include "tools/terminal/cli.h"
#include "tools/terminal/verb.h"
#include "util/base/status.h"
#include "util/base/strings.h"
#include "util/base/unix_time.h"

namespace sepal::tools {
namespace {

double AgeSeconds(const PreparedTransaction& prepared) {
  const auto age = std::chrono::system_clock::now() - prepared.prepared;
  return std::max(0.0, std::chrono::duration<double>(age).count());
}

class EndTransactionVerb : public Verb {
 public:
  void AddFlags(CLI::App* app) override {
    place_.AddFlagsToWrite(app);
    app->add_option("NAME", name_, "Name of the prepared transaction")->required();
    app->add_flag("--hex", hex_, "The name is given in hexadecimal");
    AddMemoryLimit(app, &memory_limit_);
  }

  absl::Status Run(const Streams& io) override {
    ASSIGN_OR_RETURN(const std::string transaction_name, BytesFrom(name_, hex_));
    ASSIGN_OR_RETURN(const std::unique_ptr<DB> db, OpenToWrite(place_, /*create=*/false, memory_limit_));
    {
      ASSIGN_OR_RETURN(const std::unique_ptr<Transaction> transaction, db->FindPrepared(transaction_name));
      RETURN_IF_ERROR(WithMemoryRemedy(End(transaction.get())));
    }
    RETURN_IF_ERROR(db->Close());
    if (!json) return absl::OkStatus();
    nlohmann::json line = JsonHead();
    line["directory"] = place_.directory;
    line[What()] = BytesJson(transaction_name);
    io.out << ToLine(line) << "\n";
    return absl::OkStatus();
  }

 private:
  virtual absl::Status End(Transaction* transaction) = 0;
  virtual const char* What() const = 0;

  Place place_;
  std::string name_;
  bool hex_ = false;
  uint64_t memory_limit_ = Options().memory_limit;
};

class CommitTransactionVerb final : public EndTransactionVerb {
  absl::Status End(Transaction* transaction) override { return transaction->Commit({.sync = true}); }
  const char* What() const override { return "committed"; }
};

class RollbackTransactionVerb final : public EndTransactionVerb {
  absl::Status End(Transaction* transaction) override { return transaction->Rollback(); }
  const char* What() const override { return "rolled_back"; }
};

class ListTransactionsVerb final : public Verb {
 public:
  void AddFlags(CLI::App* app) override { place_.AddFlags(app); }

  absl::Status Run(const Streams& io) override {
    std::vector<PreparedTransaction> all;
    RETURN_IF_ERROR(LookAt(place_, [&](DB* db) -> absl::Status {
      ASSIGN_OR_RETURN(all, db->PreparedTransactions());
      return absl::OkStatus();
    }));
    nlohmann::json line = JsonHead();
    line["prepared"] = nlohmann::json::array();
    for (const PreparedTransaction& prepared : all) {
      line["prepared"].push_back({{"name", BytesJson(prepared.name)},
                                  {"prepared", TimeText(prepared.prepared)},
                                  {"age_seconds", AgeSeconds(prepared)},
                                  {"updates", prepared.updates},
                                  {"bytes", prepared.bytes},
                                  {"locks", prepared.locks}});
      if (json) continue;
      io.out << absl::StrFormat("%s\tprepared %s\tage %.0f s\t%u updates\t%u bytes\t%u locks\n", Escaped(prepared.name),
                                TimeText(prepared.prepared), AgeSeconds(prepared), prepared.updates, prepared.bytes,
                                prepared.locks);
    }
    if (json) io.out << ToLine(line) << "\n";
    return absl::OkStatus();
  }

 private:
  Place place_;
};

}  // namespace

std::vector<VerbEntry> TransactionVerbs() {
  return {
      {"txn list", "list the prepared transactions, with their ages and locks", "txn list /var/lib/app",
       MakeVerb<ListTransactionsVerb>},
      {"txn commit", "commit a prepared transaction", "txn commit /var/lib/app order-17",
       MakeVerb<CommitTransactionVerb>},
      {"txn rollback", "roll a prepared transaction back", "txn rollback /var/lib/app order-17",
       MakeVerb<RollbackTransactionVerb>},
  };
}

}  // namespace sepal::tools
