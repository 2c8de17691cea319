// Opens a database, writes, reads and iterates: what a first user of the installed library does.
#include <cstdio>
#include <string>

#include "sepal/db.h"
#include "sepal/version.h"

namespace {

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  sepal::Options options{.create_if_missing = true, .memory_limit = size_t{16} << 20};
  absl::StatusOr<std::unique_ptr<sepal::DB>> db = sepal::DB::Open(options, argv[1]);
  if (!db.ok()) return Fail(db.status());
  if (absl::Status status = (*db)->Put("key", "value", {.sync = true}); !status.ok()) return Fail(status);
  sepal::WriteBatch batch;
  batch.Put("a", "1");
  batch.Delete("b");
  if (absl::Status status = (*db)->Write(batch); !status.ok()) return Fail(status);
  absl::StatusOr<std::string> value = (*db)->Get("key");
  if (!value.ok()) return Fail(value.status());
  int entries = 0;
  {
    std::unique_ptr<sepal::Iterator> it = (*db)->NewIterator();
    for (it->SeekToFirst(); it->Valid(); it->Next()) ++entries;
    if (!it->status().ok()) return Fail(it->status());
  }
  if (absl::Status status = (*db)->Close(); !status.ok()) return Fail(status);
  std::printf("sepal %s: key = %s, %d entries\n", sepal::VersionString(), value->c_str(), entries);
  return *value == "value" && entries == 2 ? 0 : 1;
}
