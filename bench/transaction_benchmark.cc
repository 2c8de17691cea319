// Transactions that read two keys for update and write both, over 1,000,000 keys with values of 100 bytes, unsynced, on
// the disk, from 1, 4 and 16 threads, with keys chosen evenly or by Zipf's law. An attempt that is aborted is made
// again; a committed transaction is one item. Where they are installed, the same with RocksDB's two kinds of
// transactions and with LMDB's.
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_format.h"
#include "bench/temporary_directory.h"
#include "sepal/db.h"
#include "sepal/simulation/memory_file_system.h"
#include "tools/db_bench/workload.h"
#include "util/base/check.h"
#include "util/base/random.h"

#ifdef SEPAL_WITH_ROCKSDB
#include "rocksdb/cache.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/table.h"
#include "rocksdb/utilities/optimistic_transaction_db.h"
#include "rocksdb/utilities/transaction_db.h"
#endif
#ifdef SEPAL_WITH_LMDB
#include <lmdb.h>
#endif

namespace sepal {
namespace {

constexpr uint64_t kKeys = 1'000'000;
constexpr size_t kMemory = size_t{512} << 20;

std::string KeyOf(uint64_t number) { return absl::StrFormat("%016u", number); }
const std::string& FirstValue() {
  static const std::string value(100, 'v');
  return value;
}

// A directory that is removed at the end of the process, though its store is never closed.
const std::string& NewDirectory(std::string_view name) {
  static std::vector<std::unique_ptr<TemporaryDirectory>> directories;
  directories.push_back(std::make_unique<TemporaryDirectory>(name));
  return directories.back()->path();
}

// A store that runs one transaction at a time for each thread.
class Store {
 public:
  virtual ~Store() = default;
  // Makes one attempt; returns whether it committed.
  virtual bool Attempt(const std::array<std::string, 2>& keys) = 0;
};

// The value to write: the value that was read, with one letter changed.
void Change(std::string* value) { ++(*value)[7]; }

class SepalStore final : public Store {
 public:
  explicit SepalStore(TransactionOptions options) : options_(options), directory_(NewDirectory("sepal_transactions")) {
    Options open;
    open.create_if_missing = true;
    open.memory_limit = kMemory;
    db_ = DB::Open(open, directory_ + "/db").value();
    for (uint64_t i = 0; i < kKeys; ++i) SEPAL_CHECK(db_->Put(KeyOf(i), FirstValue()).ok());
    SEPAL_CHECK(db_->CompactRange().ok());
  }
  bool Attempt(const std::array<std::string, 2>& keys) override {
    const std::unique_ptr<Transaction> txn = db_->BeginTransaction(options_).value();
    for (const std::string& key : keys) {
      absl::StatusOr<std::string> value = txn->GetForUpdate(key);
      if (absl::IsAborted(value.status())) return false;
      SEPAL_CHECK(value.ok());
      Change(&*value);
      SEPAL_CHECK(txn->Put(key, *value).ok());
    }
    const absl::Status status = txn->Commit();
    SEPAL_CHECK(status.ok() || absl::IsAborted(status));
    return status.ok();
  }

 private:
  const TransactionOptions options_;
  const std::string directory_;
  std::unique_ptr<DB> db_;
};

#ifdef SEPAL_WITH_ROCKSDB
class RocksStore final : public Store {
 public:
  explicit RocksStore(bool pessimistic) : directory_(NewDirectory("rocksdb_transactions")) {
    rocksdb::Options open;
    open.create_if_missing = true;
    open.write_buffer_size = kMemory / 8;
    rocksdb::BlockBasedTableOptions table;
    table.block_cache = rocksdb::NewLRUCache(kMemory / 2);
    table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
    open.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    if (pessimistic) {
      rocksdb::TransactionDB* db = nullptr;
      rocksdb::TransactionDBOptions options;
      options.transaction_lock_timeout = 1000;
      SEPAL_CHECK(rocksdb::TransactionDB::Open(open, options, directory_ + "/db", &db).ok());
      pessimistic_.reset(db);
      base_ = db;
    } else {
      rocksdb::OptimisticTransactionDB* db = nullptr;
      SEPAL_CHECK(rocksdb::OptimisticTransactionDB::Open(open, directory_ + "/db", &db).ok());
      optimistic_.reset(db);
      base_ = db;
    }
    for (uint64_t i = 0; i < kKeys; ++i) SEPAL_CHECK(base_->Put({}, KeyOf(i), FirstValue()).ok());
    SEPAL_CHECK(base_->CompactRange({}, nullptr, nullptr).ok());
  }
  bool Attempt(const std::array<std::string, 2>& keys) override {
    // The object is used again, as RocksDB advises.
    static thread_local std::unique_ptr<rocksdb::Transaction> txn;
    static thread_local const RocksStore* of = nullptr;
    if (of != this) txn.reset();
    of = this;
    if (pessimistic_ != nullptr) {
      rocksdb::TransactionOptions options;
      options.deadlock_detect = true;
      txn.reset(pessimistic_->BeginTransaction({}, options, txn.release()));
    } else {
      txn.reset(optimistic_->BeginTransaction({}, {}, txn.release()));
    }
    for (const std::string& key : keys) {
      std::string value;
      rocksdb::Status status = txn->GetForUpdate({}, key, &value);
      if (status.ok()) {
        Change(&value);
        status = txn->Put(key, value);
      }
      if (!status.ok()) return GiveUp(txn.get(), status);
    }
    const rocksdb::Status status = txn->Commit();
    return status.ok() || GiveUp(txn.get(), status);
  }

 private:
  static bool GiveUp(rocksdb::Transaction* txn, const rocksdb::Status& status) {
    SEPAL_CHECK(status.IsBusy() || status.IsTryAgain() || status.IsTimedOut());
    SEPAL_CHECK(txn->Rollback().ok());
    return false;
  }

  const std::string directory_;
  std::unique_ptr<rocksdb::TransactionDB> pessimistic_;
  std::unique_ptr<rocksdb::OptimisticTransactionDB> optimistic_;
  rocksdb::DB* base_ = nullptr;
};
#endif

#ifdef SEPAL_WITH_LMDB
class LmdbStore final : public Store {
 public:
  LmdbStore() : directory_(NewDirectory("lmdb_transactions")) {
    SEPAL_CHECK(mdb_env_create(&env_) == 0 && mdb_env_set_mapsize(env_, size_t{4} << 30) == 0);
    SEPAL_CHECK(mdb_env_open(env_, directory_.c_str(), MDB_NOSYNC | MDB_WRITEMAP, 0644) == 0);
    MDB_txn* txn = nullptr;
    SEPAL_CHECK(mdb_txn_begin(env_, nullptr, 0, &txn) == 0 && mdb_dbi_open(txn, nullptr, 0, &dbi_) == 0);
    for (uint64_t i = 0; i < kKeys; ++i) Put(txn, KeyOf(i), FirstValue());
    SEPAL_CHECK(mdb_txn_commit(txn) == 0);
  }
  ~LmdbStore() override { mdb_env_close(env_); }
  bool Attempt(const std::array<std::string, 2>& keys) override {
    MDB_txn* txn = nullptr;
    SEPAL_CHECK(mdb_txn_begin(env_, nullptr, 0, &txn) == 0);
    for (const std::string& key : keys) {
      MDB_val name = {key.size(), const_cast<char*>(key.data())}, found;
      SEPAL_CHECK(mdb_get(txn, dbi_, &name, &found) == 0);
      std::string value(static_cast<const char*>(found.mv_data), found.mv_size);
      Change(&value);
      Put(txn, key, value);
    }
    SEPAL_CHECK(mdb_txn_commit(txn) == 0);
    return true;
  }

 private:
  void Put(MDB_txn* txn, const std::string& key, const std::string& value) {
    MDB_val name = {key.size(), const_cast<char*>(key.data())};
    MDB_val bytes = {value.size(), const_cast<char*>(value.data())};
    SEPAL_CHECK(mdb_put(txn, dbi_, &name, &bytes, 0) == 0);
  }

  const std::string directory_;
  MDB_env* env_ = nullptr;
  MDB_dbi dbi_ = 0;
};
#endif

enum class Kind : uint8_t {
  kSepalOptimistic,
  kSepalSerializable,
  kSepalPessimistic,
  kRocksOptimistic,
  kRocksPessimistic,
  kLmdb
};

std::unique_ptr<Store> NewStore(Kind kind) {
  switch (kind) {
    case Kind::kSepalOptimistic:
      return std::make_unique<SepalStore>(TransactionOptions{});
    case Kind::kSepalSerializable:
      return std::make_unique<SepalStore>(TransactionOptions{.isolation = Isolation::kSerializable});
    case Kind::kSepalPessimistic:
      return std::make_unique<SepalStore>(TransactionOptions{.locking = Locking::kPessimistic});
#ifdef SEPAL_WITH_ROCKSDB
    case Kind::kRocksOptimistic:
      return std::make_unique<RocksStore>(false);
    case Kind::kRocksPessimistic:
      return std::make_unique<RocksStore>(true);
#endif
#ifdef SEPAL_WITH_LMDB
    case Kind::kLmdb:
      return std::make_unique<LmdbStore>();
#endif
    default:
      return nullptr;
  }
}

// One of each kind, for the whole run, and never closed: threads keep transactions of it.
Store* StoreOf(Kind kind) {
  static std::array<Store*, 6> stores = {};
  Store*& store = stores[static_cast<size_t>(kind)];
  if (store == nullptr) store = NewStore(kind).release();
  return store;
}

void BM_Transaction(benchmark::State& state, Kind kind, bool zipf) {
  static Store* store;
  if (state.thread_index() == 0) store = StoreOf(kind);
  const uint64_t seed = static_cast<uint64_t>(state.thread_index()) + 1;
  static const tools::ZipfGenerator all(kKeys, 0.99, 1);
  tools::ZipfGenerator hot = all.WithSeed(seed);
  Random even(seed);
  const auto next = [&] { return zipf ? hot.Next() : even.Uniform(kKeys); };
  uint64_t attempts = 0;
  for (auto _ : state) {
    const uint64_t first = next();
    uint64_t second = next();
    if (second == first) second = (first + 1) % kKeys;
    const std::array<std::string, 2> keys = {KeyOf(first), KeyOf(second)};
    do {
      ++attempts;
    } while (!store->Attempt(keys));
  }
  state.SetItemsProcessed(state.iterations());
  state.counters["attempts"] = benchmark::Counter(static_cast<double>(attempts));
}

#define SEPAL_TRANSACTIONS(name, kind)                                                                                \
  BENCHMARK_CAPTURE(BM_Transaction, name##_uniform, kind, false)->Threads(1)->Threads(4)->Threads(16)->UseRealTime(); \
  BENCHMARK_CAPTURE(BM_Transaction, name##_zipf, kind, true)->Threads(1)->Threads(4)->Threads(16)->UseRealTime()
SEPAL_TRANSACTIONS(sepal_optimistic, Kind::kSepalOptimistic);
SEPAL_TRANSACTIONS(sepal_serializable, Kind::kSepalSerializable);
SEPAL_TRANSACTIONS(sepal_pessimistic, Kind::kSepalPessimistic);
#ifdef SEPAL_WITH_ROCKSDB
SEPAL_TRANSACTIONS(rocksdb_optimistic, Kind::kRocksOptimistic);
SEPAL_TRANSACTIONS(rocksdb_pessimistic, Kind::kRocksPessimistic);
#endif
#ifdef SEPAL_WITH_LMDB
SEPAL_TRANSACTIONS(lmdb, Kind::kLmdb);
#endif

// Takes 100,000 locks in one transaction and releases them, on absent keys. The label has the memory that is charged
// for them; `bytes` is malloc's for each.
void BM_HoldLocks(benchmark::State& state) {
  constexpr uint64_t kLocks = 100'000;
  MemoryFileSystem files;
  Options open{.create_if_missing = true, .memory_limit = kMemory};
  open.env.file_system = &files;
  const std::unique_ptr<DB> db = DB::Open(open, "locks").value();
  std::vector<std::string> keys;
  for (uint64_t i = 0; i < kLocks; ++i) keys.push_back(KeyOf(i));
  for (auto _ : state) {
    const size_t before = mallinfo2().uordblks;
    const std::unique_ptr<Transaction> txn = db->BeginTransaction({.locking = Locking::kPessimistic}).value();
    for (const std::string& key : keys) SEPAL_CHECK(absl::IsNotFound(txn->GetForUpdate(key).status()));
    state.counters["bytes"] = static_cast<double>(mallinfo2().uordblks - before) / kLocks;
    const std::string memory = db->GetProperty("sepal.memory").value_or("");
    const size_t line = memory.find("transactions");
    state.SetLabel(memory.substr(line, memory.find('\n', line) - line));
    SEPAL_CHECK(txn->Rollback().ok());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kLocks));
}
BENCHMARK(BM_HoldLocks)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace sepal
