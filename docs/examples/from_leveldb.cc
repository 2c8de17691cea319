// Brings the contents of a LevelDB database into a new Sepal database.
//   from_leveldb SOURCE TARGET
#include <leveldb/db.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "sepal/db.h"

namespace {

int Fail(const std::string& why) {
  std::fprintf(stderr, "from_leveldb: %s\n", why.c_str());
  return 1;
}

std::string_view View(const leveldb::Slice& slice) { return {slice.data(), slice.size()}; }

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return Fail("from_leveldb SOURCE TARGET");
  leveldb::DB* opened = nullptr;
  const leveldb::Status status = leveldb::DB::Open(leveldb::Options(), argv[1], &opened);
  if (!status.ok()) return Fail(status.ToString());
  const std::unique_ptr<leveldb::DB> source(opened);

  absl::StatusOr<std::unique_ptr<sepal::DB>> target =
      sepal::DB::Open({.create_if_missing = true, .error_if_exists = true}, argv[2]);
  if (!target.ok()) return Fail(target.status().ToString());

  leveldb::ReadOptions options;
  options.verify_checksums = true;
  options.fill_cache = false;
  const std::unique_ptr<leveldb::Iterator> it(source->NewIterator(options));
  sepal::WriteBatch batch;
  uint64_t entries = 0;
  constexpr size_t kBatchBytes = size_t{512} << 10;
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    batch.Put(View(it->key()), View(it->value()));
    ++entries;
    if (batch.ByteSize() < kBatchBytes) continue;
    if (absl::Status written = (*target)->Write(batch); !written.ok()) return Fail(written.ToString());
    batch.Clear();
  }
  if (!it->status().ok()) return Fail(it->status().ToString());
  if (absl::Status written = (*target)->Write(batch); !written.ok()) return Fail(written.ToString());
  if (absl::Status closed = (*target)->Close(); !closed.ok()) return Fail(closed.ToString());
  std::printf("%llu entries\n", static_cast<unsigned long long>(entries));
  return 0;
}
