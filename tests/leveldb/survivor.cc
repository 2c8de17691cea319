// A program that is killed while it writes through LevelDB's interface, and what it finds afterwards.
//   survivor write DIRECTORY           writes batches until it is killed; prints the number of each that is durable
//   survivor check DIRECTORY LEAST     every batch is there whole or not at all, and those up to LEAST are there
//   survivor large DIRECTORY           one batch of 300 MB, and is killed by itself
#include <leveldb/db.h>
#include <leveldb/write_batch.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

namespace {

constexpr int kEntries = 20;
constexpr int kLargeEntries = 3000;
constexpr size_t kLargeValue = 100'000;

std::string KeyOf(uint64_t batch, int entry) {
  char key[40];
  std::snprintf(key, sizeof key, "%012lu/%04d", static_cast<unsigned long>(batch), entry);
  return key;
}

std::unique_ptr<leveldb::DB> Open(const char* directory) {
  leveldb::Options options;
  options.create_if_missing = true;
  leveldb::DB* db = nullptr;
  const leveldb::Status status = leveldb::DB::Open(options, directory, &db);
  if (!status.ok()) std::printf("%s\n", status.ToString().c_str());
  return std::unique_ptr<leveldb::DB>(db);
}

int Write(leveldb::DB* db) {
  for (uint64_t number = 1;; ++number) {
    leveldb::WriteBatch batch;
    for (int i = 0; i < kEntries; ++i) batch.Put(KeyOf(number, i), std::string(number * 37 % 3000, 'v'));
    leveldb::WriteOptions options;
    options.sync = number % 8 == 0;
    const leveldb::Status status = db->Write(options, &batch);
    if (!status.ok()) return std::printf("%s\n", status.ToString().c_str());
    if (options.sync) std::printf("%lu\n", static_cast<unsigned long>(number));
    std::fflush(stdout);
  }
}

int Large(leveldb::DB* db) {
  leveldb::WriteBatch batch;
  for (int i = 0; i < kLargeEntries; ++i) batch.Put(KeyOf(1, i), std::string(kLargeValue, 'v'));
  leveldb::WriteOptions options;
  options.sync = true;
  const leveldb::Status status = db->Write(options, &batch);
  if (!status.ok()) return std::printf("%s\n", status.ToString().c_str());
  return ::kill(::getpid(), SIGKILL);
}

int Check(leveldb::DB* db, uint64_t least, int entries) {
  const std::unique_ptr<leveldb::Iterator> it(db->NewIterator(leveldb::ReadOptions()));
  uint64_t batch = 1;
  int entry = 0;
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    if (it->key().ToString() != KeyOf(batch, entry)) return std::printf("%s is missing\n", KeyOf(batch, entry).c_str());
    if (++entry < entries) continue;
    ++batch;
    entry = 0;
  }
  if (!it->status().ok()) return std::printf("%s\n", it->status().ToString().c_str());
  if (entry != 0) return std::printf("batch %lu is in part\n", static_cast<unsigned long>(batch));
  if (batch <= least) return std::printf("only %lu batches\n", static_cast<unsigned long>(batch - 1));
  std::printf("%lu batches of at least %lu\n", static_cast<unsigned long>(batch - 1),
              static_cast<unsigned long>(least));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string verb = argv[1];
  const std::unique_ptr<leveldb::DB> db = Open(argv[2]);
  if (db == nullptr) return 1;
  if (verb == "write") return Write(db.get()) != 0;
  if (verb == "large") return Large(db.get()) != 0;
  const uint64_t least = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 0;
  return Check(db.get(), least, verb == "check-large" ? kLargeEntries : kEntries) != 0;
}
