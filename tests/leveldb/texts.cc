// A program that prints what LevelDB's C++ interface says where something is wrong, and what its smaller classes do:
// with LevelDB and with Sepal's libleveldb it must print the same.
//   texts SEED DIRECTORY
#include <leveldb/cache.h>
#include <leveldb/comparator.h>
#include <leveldb/db.h>
#include <leveldb/env.h>
#include <leveldb/filter_policy.h>
#include <leveldb/helpers/memenv.h>
#include <leveldb/write_batch.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace leveldb;  // all of it is under test

class Reversed final : public Comparator {
 public:
  int Compare(const Slice& a, const Slice& b) const override { return b.compare(a); }
  const char* Name() const override { return "test.Reversed"; }
  void FindShortestSeparator(std::string*, const Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}
};

void Say(const char* what, const Status& status) {
  const int kinds = status.IsNotFound() + 2 * status.IsCorruption() + 4 * status.IsIOError() +
                    8 * status.IsNotSupportedError() + 16 * status.IsInvalidArgument();
  std::printf("%s: %s (%d)\n", what, status.ToString().c_str(), kinds);
}

DB* OpenOrSay(const char* what, const Options& options, const std::string& name) {
  DB* db = reinterpret_cast<DB*>(1);
  Say(what, DB::Open(options, name, &db));
  return db;
}

void Statuses() {
  Say("two", Status::NotFound("a", "b"));
  Say("one", Status::Corruption("a"));
  Say("none", Status::IOError(""));
  Say("empty second", Status::InvalidArgument("a", ""));
  Say("bytes", Status::NotSupported(Slice("a\0b", 3)));
  const Status first = Status::IOError("first");
  Status copy = first;
  Status moved = std::move(copy);
  copy = moved;
  moved = Status::OK();
  Say("copied", copy);
  Say("ok", moved);
}

void Openings() {
  Options options;
  OpenOrSay("missing", options, "missing");
  options.create_if_missing = true;
  OpenOrSay("no parent", options, "no/parent");
  OpenOrSay("no name", options, "");
  std::fclose(std::fopen("file", "w"));
  OpenOrSay("a file", options, "file");
  Say("destroy a file", DestroyDB("file", options));
  Say("repair a file", RepairDB("file", options));
  const std::unique_ptr<DB> db(OpenOrSay("made", options, "made"));
  // LevelDB loses its lock to others once it was refused in its own process.
  std::fflush(stdout);
  if (const pid_t child = ::fork(); child == 0) {
    // Another process, with another library.
    ::execl("/proc/self/exe", "texts", "locked", ".", nullptr);
    ::_exit(1);
  } else {
    ::waitpid(child, nullptr, 0);
  }
  std::printf("null %d\n", OpenOrSay("locked", options, "made") == nullptr);
  Say("destroy locked", DestroyDB("made", options));
}

void Existing() {
  Options options;
  options.error_if_exists = true;
  OpenOrSay("exists", options, "made");
  options.error_if_exists = false;
  const Reversed reversed;
  options.comparator = &reversed;
  OpenOrSay("another order", options, "made");
  options.create_if_missing = true;
  delete OpenOrSay("made reversed", options, "reversed");
  options.comparator = BytewiseComparator();
  OpenOrSay("bytewise", options, "reversed");
  Say("destroy none", DestroyDB("none", options));
  Say("repair none", RepairDB("none", options));
  delete OpenOrSay("repaired none", options, "none");
  std::unique_ptr<DB> db(OpenOrSay("open", options, "made"));
  Say("put", db->Put(WriteOptions(), "k", "v"));
  db.reset();
  Say("repair", RepairDB("made", options));
  db.reset(OpenOrSay("repaired", options, "made"));
  std::string value;
  Say("get", db->Get(ReadOptions(), "k", &value));
  db.reset();
  Say("destroy repaired", DestroyDB("made", options));
  delete OpenOrSay("soon gone", options, "gone");
  Say("destroy", DestroyDB("gone", options));
  std::printf("there %d\n", ::access("gone", F_OK));
  ::mkdir("sealed", 0500);
  if (::geteuid() != 0) OpenOrSay("sealed", options, "sealed");
}

void Files(Env* env, const std::string& root) {
  SequentialFile* sequential;
  RandomAccessFile* random;
  WritableFile* writable;
  Logger* logger;
  FileLock* lock;
  uint64_t size = 7;
  std::vector<std::string> children;
  const std::string none = root + "absent", some = root + "some";
  Say("sequential", env->NewSequentialFile(none, &sequential));
  Say("random", env->NewRandomAccessFile(none, &random));
  Say("remove", env->RemoveFile(none));
  Say("size", env->GetFileSize(none, &size));
  Say("rename", env->RenameFile(none, some));
  Say("children", env->GetChildren(none, &children));
  Say("make", env->CreateDir(root + "directory"));
  Say("unmake", env->RemoveDir(root + "directory"));
  Say("write", env->NewWritableFile(some, &writable));
  Say("append", writable->Append("0123456789"));
  Say("sync", writable->Sync());
  Say("close", writable->Close());
  delete writable;
  Say("more", env->NewAppendableFile(some, &writable));
  Say("append", writable->Append("abc"));
  delete writable;
  Say("size", env->GetFileSize(some, &size));
  std::string text = "as it was";
  Say("read", ReadFileToString(env, some, &text));
  std::printf("%lu %s %d\n", static_cast<unsigned long>(size), text.c_str(), env->FileExists(some));
  Say("sequential", env->NewSequentialFile(some, &sequential));
  char scratch[20];
  Slice part;
  Say("skip", sequential->Skip(3));
  Say("read", sequential->Read(4, &part, scratch));
  std::printf("%s\n", part.ToString().c_str());
  delete sequential;
  Say("random", env->NewRandomAccessFile(some, &random));
  Say("read", random->Read(8, 4, &part, scratch));
  std::printf("%s\n", part.ToString().c_str());
  delete random;
  Say("write", WriteStringToFile(env, "all", some));
  Say("rename", env->RenameFile(some, root + "other"));
  Say("read", ReadFileToString(env, some, &text));
  std::printf("[%s] %d\n", text.c_str(), env->FileExists(root + "other"));
  Say("lock", env->LockFile(root + "lock", &lock));
  Say("unlock", env->UnlockFile(lock));
  Say("logger", env->NewLogger(root + "log", &logger));
  delete logger;
}

void System() {
  Env* const env = Env::Default();
  std::printf("one %d\n", env == Env::Default());
  Files(env, "");
  FileLock *first, *second;
  Say("lock", env->LockFile("lock", &first));
  Say("again", env->LockFile("lock", &second));
  Say("unlock", env->UnlockFile(first));
  WritableFile* writable;
  Say("nowhere", env->NewWritableFile("no/where", &writable));
  std::string text;
  Say("read nothing", ReadFileToString(env, "absent", &text));
  Say("unmake", env->RemoveDir("absent"));
  Say("again", env->CreateDir("reversed"));
  const std::unique_ptr<Env> memory(NewMemEnv(env));
  Files(memory.get(), "/in memory/");
  Say("test directory", memory->GetTestDirectory(&text));
  std::printf("%s\n", text.c_str());
}

void InMemory() {
  const std::unique_ptr<Env> memory(NewMemEnv(Env::Default()));
  Options options;
  options.env = memory.get();
  OpenOrSay("missing in memory", options, "/memory");
  options.create_if_missing = true;
  std::unique_ptr<DB> db(OpenOrSay("in memory", options, "/memory"));
  Say("put", db->Put(WriteOptions(), "k", "v"));
  db.reset();
  db.reset(OpenOrSay("again", options, "/memory"));
  std::string value;
  Say("get", db->Get(ReadOptions(), "k", &value));
  std::printf("%s %d\n", value.c_str(), ::access("/memory", F_OK));
  db.reset();
  Say("destroy", DestroyDB("/memory", options));
}

void Orders() {
  const Comparator* const order = BytewiseComparator();
  std::printf("%s %d\n", order->Name(), order->Compare("a", "b") < 0);
  const std::vector<std::pair<std::string, std::string>> pairs = {
      {"abc", "abzz"},      {"abc1", "abz"},    {"ab", "abc"}, {"abc", "abd"},
      {"\xff", "\xff\xff"}, {"a\xfe", "a\xff"}, {"", ""}};
  for (const auto& [start, limit] : pairs) {
    std::string between = start, after = start;
    order->FindShortestSeparator(&between, limit);
    order->FindShortSuccessor(&after);
    std::printf("%s %s %s %s\n", start.c_str(), limit.c_str(), between.c_str(), after.c_str());
  }
}

void Filters() {
  const std::unique_ptr<const FilterPolicy> policy(NewBloomFilterPolicy(10));
  const std::vector<std::string> texts = {"a", "b", "", "a longer key"};
  const std::vector<Slice> keys(texts.begin(), texts.end());
  std::string filter = "before";
  policy->CreateFilter(keys.data(), static_cast<int>(keys.size()), &filter);
  std::printf("%s %s", policy->Name(), filter.substr(0, 6).c_str());
  for (const Slice& key : keys) std::printf(" %d", policy->KeyMayMatch(key, filter.substr(6)));
  std::printf(" %d\n", policy->KeyMayMatch("a", ""));
}

std::vector<int> dropped;
void Drop(const Slice&, void* value) { dropped.push_back(static_cast<int>(reinterpret_cast<intptr_t>(value))); }

void Caches() {
  std::unique_ptr<Cache> cache(NewLRUCache(1000));
  const auto insert = [&](const char* key, int value) {
    return cache->Insert(key, reinterpret_cast<void*>(static_cast<intptr_t>(value)), 1, Drop);
  };
  cache->Release(insert("a", 1));
  Cache::Handle* const held = insert("a", 2);
  cache->Erase("a");
  std::printf("%d %zu %d\n", cache->Lookup("a") == nullptr, cache->TotalCharge(), cache->NewId() != cache->NewId());
  std::printf("%ld\n", static_cast<long>(reinterpret_cast<intptr_t>(cache->Value(held))));
  cache->Release(held);
  cache->Release(insert("b", 3));
  cache->Prune();
  std::printf("%zu\n", cache->TotalCharge());
  cache->Release(insert("c", 4));
  cache.reset();
  for (const int value : dropped) std::printf("dropped %d\n", value);
}

void Iterators() {
  const std::unique_ptr<Iterator> failed(NewErrorIterator(Status::IOError("broken")));
  failed->SeekToFirst();
  Say("failed", failed->status());
  std::unique_ptr<Iterator> empty(NewEmptyIterator());
  const auto cleanup = [](void* first, void* second) {
    std::printf("cleanup %s %s\n", static_cast<char*>(first), static_cast<char*>(second));
  };
  char texts[][2] = {"1", "2", "3", "4", "5", "6"};
  for (int i = 0; i < 6; i += 2) empty->RegisterCleanup(cleanup, texts[i], texts[i + 1]);
  std::printf("%d\n", empty->Valid());
  empty.reset();
}

// A snapshot that was released is used once more.
void Snapshots() {
  Options options;
  options.create_if_missing = true;
  const std::unique_ptr<DB> db(OpenOrSay("made", options, "snapshots"));
  Say("put", db->Put(WriteOptions(), "k", "1"));
  const Snapshot* const snapshot = db->GetSnapshot();
  Say("put", db->Put(WriteOptions(), "k", "2"));
  ReadOptions as_of;
  as_of.snapshot = snapshot;
  std::string value;
  Say("get", db->Get(as_of, "k", &value));
  std::printf("%s\n", value.c_str());
  db->ReleaseSnapshot(snapshot);
  Say("no batch", db->Write(WriteOptions(), nullptr));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  if (argv[1] == std::string("locked")) {
    OpenOrSay("locked by another process", Options(), "made");
    return 0;
  }
  ::mkdir(argv[2], 0755);
  if (::chdir(argv[2]) != 0) return 1;
  Statuses();
  Openings();
  Existing();
  System();
  InMemory();
  Orders();
  Filters();
  Caches();
  Iterators();
  Snapshots();
}
