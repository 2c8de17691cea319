// LMDB: a B+-tree in a memory map, without a log. Unsynced writes go to the map (MDB_WRITEMAP | MDB_NOSYNC): they
// survive the death of the process, as the others' do; after a loss of power, unlike theirs, the file may be unusable.
#include <lmdb.h>
#include <sys/stat.h>

#include "absl/strings/str_format.h"
#include "bench/compare/engine.h"
#include "tools/terminal/latency.h"
#include "util/base/strings.h"

namespace sepal::compare {
namespace {

void RequireLmdb(int code, std::string_view what) {
  if (code != MDB_SUCCESS) [[unlikely]]
    Fail(what, mdb_strerror(code));
}
MDB_val ToVal(std::string_view s) { return MDB_val{s.size(), const_cast<char*>(s.data())}; }
std::string_view ToView(const MDB_val& v) { return std::string_view(static_cast<const char*>(v.mv_data), v.mv_size); }

class LmdbCursor final : public Cursor {
 public:
  LmdbCursor(MDB_env* env, MDB_dbi dbi) {
    RequireLmdb(mdb_txn_begin(env, nullptr, MDB_RDONLY, &txn_), "lmdb begin");
    RequireLmdb(mdb_cursor_open(txn_, dbi, &cursor_), "lmdb cursor");
  }
  ~LmdbCursor() override {
    mdb_cursor_close(cursor_);
    mdb_txn_abort(txn_);
  }
  void SeekToFirst() override { Move(MDB_FIRST); }
  void SeekToLast() override { Move(MDB_LAST); }
  void Seek(std::string_view target) override {
    key_ = ToVal(target);
    Move(MDB_SET_RANGE);
  }
  void Next() override { Move(MDB_NEXT); }
  void Prev() override { Move(MDB_PREV); }
  bool Valid() override { return valid_; }
  std::string_view key() override { return ToView(key_); }
  std::string_view value() override { return ToView(value_); }

 private:
  void Move(MDB_cursor_op operation) {
    const int code = mdb_cursor_get(cursor_, &key_, &value_, operation);
    valid_ = code == MDB_SUCCESS;
    if (!valid_ && code != MDB_NOTFOUND) Fail("lmdb cursor", mdb_strerror(code));
  }

  MDB_txn* txn_ = nullptr;
  MDB_cursor* cursor_ = nullptr;
  MDB_val key_ = {};
  MDB_val value_ = {};
  bool valid_ = false;
};

class LmdbSession final : public Session {
 public:
  LmdbSession(MDB_env* env, MDB_dbi dbi) : env_(env), dbi_(dbi) {}
  ~LmdbSession() override {
    if (read_ != nullptr) mdb_txn_abort(read_);
  }

  void Put(std::string_view key, std::string_view value, bool sync) override {
    MDB_txn* txn = Begin();
    MDB_val k = ToVal(key), v = ToVal(value);
    RequireLmdb(mdb_put(txn, dbi_, &k, &v, 0), "lmdb put");
    RequireLmdb(mdb_txn_commit(txn), "lmdb commit");
    if (sync) RequireLmdb(mdb_env_sync(env_, 1), "lmdb sync");
  }
  void PutBatch(std::span<const Entry> entries) override {
    MDB_txn* txn = Begin();
    for (const Entry& entry : entries) {
      MDB_val k = ToVal(entry.key), v = ToVal(entry.value);
      RequireLmdb(mdb_put(txn, dbi_, &k, &v, 0), "lmdb put");
    }
    RequireLmdb(mdb_txn_commit(txn), "lmdb commit");
  }
  void Delete(std::string_view key) override {
    MDB_txn* txn = Begin();
    MDB_val k = ToVal(key);
    const int code = mdb_del(txn, dbi_, &k, nullptr);
    if (code != MDB_NOTFOUND) RequireLmdb(code, "lmdb delete");
    RequireLmdb(mdb_txn_commit(txn), "lmdb commit");
  }
  bool Get(std::string_view key, std::string_view* value) override {
    Renew();
    return GetInTransaction(key, value);
  }
  size_t MultiGet(std::span<const std::string_view> keys, std::span<std::string_view> values) override {
    Renew();
    size_t found = 0;
    for (size_t i = 0; i < keys.size(); ++i) {
      values[i] = {};
      found += GetInTransaction(keys[i], &values[i]) ? 1 : 0;
    }
    return found;
  }
  std::unique_ptr<Cursor> NewCursor() override { return std::make_unique<LmdbCursor>(env_, dbi_); }

 private:
  MDB_txn* Begin() {
    MDB_txn* txn = nullptr;
    RequireLmdb(mdb_txn_begin(env_, nullptr, 0, &txn), "lmdb begin");
    return txn;
  }
  // A new read transaction: each read sees the newest state, as with the others.
  void Renew() {
    if (read_ == nullptr) {
      RequireLmdb(mdb_txn_begin(env_, nullptr, MDB_RDONLY, &read_), "lmdb begin");
      return;
    }
    mdb_txn_reset(read_);
    RequireLmdb(mdb_txn_renew(read_), "lmdb renew");
  }
  bool GetInTransaction(std::string_view key, std::string_view* value) {
    MDB_val k = ToVal(key), v;
    const int code = mdb_get(read_, dbi_, &k, &v);
    if (code == MDB_SUCCESS) {
      *value = ToView(v);
      return true;
    }
    if (code != MDB_NOTFOUND) Fail("lmdb get", mdb_strerror(code));
    return false;
  }

  MDB_env* const env_;
  const MDB_dbi dbi_;
  MDB_txn* read_ = nullptr;
};

class LmdbEngine final : public Engine {
 public:
  explicit LmdbEngine(const EngineSettings& settings) {
    mkdir(settings.path.c_str(), 0700);
    map_bytes_ = (size_t{4} << 30) + settings.entries * settings.entry_bytes * 8;
    RequireLmdb(mdb_env_create(&env_), "lmdb create");
    RequireLmdb(mdb_env_set_mapsize(env_, map_bytes_), "lmdb mapsize");
    RequireLmdb(mdb_env_open(env_, settings.path.c_str(), MDB_WRITEMAP | MDB_NOSYNC | MDB_NOTLS | MDB_NORDAHEAD, 0600),
                "lmdb open");
    MDB_txn* txn = nullptr;
    RequireLmdb(mdb_txn_begin(env_, nullptr, 0, &txn), "lmdb begin");
    RequireLmdb(mdb_dbi_open(txn, nullptr, MDB_CREATE, &dbi_), "lmdb dbi");
    RequireLmdb(mdb_txn_commit(txn), "lmdb commit");
  }
  ~LmdbEngine() override { mdb_env_close(env_); }

  std::string DescribeSettings() const override {
    return absl::StrFormat(
        "lmdb %d.%d.%d: MDB_WRITEMAP | MDB_NOSYNC | MDB_NOTLS | MDB_NORDAHEAD, map %s, no compression, no filters, no "
        "checksums, the page cache unbounded (all in its favour); a transaction for each write; a synced write is "
        "followed by mdb_env_sync; not counted as a best peer, since a loss of power may cost the whole file",
        MDB_VERSION_MAJOR, MDB_VERSION_MINOR, MDB_VERSION_PATCH, HumanBytes(map_bytes_));
  }
  std::unique_ptr<Session> NewSession() override { return std::make_unique<LmdbSession>(env_, dbi_); }
  uint64_t FinishBackgroundWork() override {
    RequireLmdb(mdb_env_sync(env_, 1), "lmdb sync");
    return tools::NowNanos();
  }
  bool CompactAll() override { return false; }
  EngineCounters Counters() override { return {}; }

 private:
  MDB_env* env_ = nullptr;
  MDB_dbi dbi_ = 0;
  size_t map_bytes_ = 0;
};

}  // namespace

std::unique_ptr<Engine> OpenLmdb(const EngineSettings& settings) { return std::make_unique<LmdbEngine>(settings); }

}  // namespace sepal::compare
