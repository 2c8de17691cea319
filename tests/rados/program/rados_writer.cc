// A process that has a database on a cluster, for tools/rados_test.sh to kill, freeze and take over.
//   rados_writer write PATH WRITER ACKED [COUNT]  puts WRITER/0, WRITER/1, ... each fourth with sync, until it fails or
//   has
//                                        put COUNT; the file ACKED gets the number of puts that a sync has covered
//   rados_writer check PATH WRITER AT_LEAST       of the writer's keys a prefix is there, of AT_LEAST keys or more
//   rados_writer verify PATH                      checks every checksum, and that no object is stray
// It takes the database over. Where the cluster is, stands in the environment (tests/rados/cluster.h).
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "sepal/db.h"
#include "sepal/rados.h"
#include "tests/rados/cluster.h"

namespace sepal {
namespace {

int Fail(const absl::Status& status) {
  std::printf("%s\n", status.ToString().c_str());
  return 1;
}

std::string Key(const std::string& writer, long i) {
  char number[24];
  std::snprintf(number, sizeof number, "%09ld", i);
  return writer + "/" + number;
}

// A note of 20 bytes is written whole.
void Note(int file, long acknowledged) {
  char text[24];
  const int size = std::snprintf(text, sizeof text, "%019ld\n", acknowledged);
  if (::pwrite(file, text, static_cast<size_t>(size), 0) != size) std::abort();
}

int Write(DB& db, const std::string& writer, const char* acked, long count) {
  const int file = ::open(acked, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) return Fail(absl::InternalError(acked));
  Note(file, 0);
  for (long i = 0; i < count; ++i) {
    const bool sync = i % 4 == 3;
    const absl::Status status = db.Put(Key(writer, i), std::string(200, 'v'), {.sync = sync});
    if (!status.ok()) {
      Fail(status);
      return Fail(db.Close());
    }
    if (sync) Note(file, i + 1);
  }
  const absl::Status closed = db.Close();
  return closed.ok() ? 0 : Fail(closed);
}

int Check(DB& db, const std::string& writer, long at_least) {
  const std::unique_ptr<Iterator> it = db.NewIterator({.prefix = writer + "/"});
  long there = 0;
  for (it->SeekToFirst(); it->Valid(); it->Next(), ++there) {
    if (it->key() != Key(writer, there)) return Fail(absl::DataLossError("a hole before " + std::string(it->key())));
  }
  if (!it->status().ok()) return Fail(it->status());
  std::printf("%s: %ld keys, %ld of them acknowledged\n", writer.c_str(), there, at_least);
  return there >= at_least ? 0 : Fail(absl::DataLossError("acknowledged keys of " + writer + " are lost"));
}

int Run(int argc, char** argv) {
  const std::string verb = argv[1], path = argv[2];
  absl::StatusOr<std::unique_ptr<RadosFileSystem>> rados = RadosFileSystem::Connect(ClusterOptions());
  if (!rados.ok()) return Fail(rados.status());
  Options options;
  options.create_if_missing = true;
  options.take_over = true;
  options.env.file_system = rados->get();
  absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(options, path);
  if (!db.ok()) return Fail(db.status());
  if (verb == "write" && argc >= 5) return Write(**db, argv[3], argv[4], argc > 5 ? std::atol(argv[5]) : 1'000'000'000);
  if (verb == "check" && argc == 5) return Check(**db, argv[3], std::atol(argv[4]));
  if (const absl::Status good = (*db)->VerifyChecksums(); !good.ok()) return Fail(good);
  if (const absl::Status closed = (*db)->Close(); !closed.ok()) return Fail(closed);
  db->reset();
  if (const absl::Status gone = (*rados)->AwaitRemovals(); !gone.ok()) return Fail(gone);
  const absl::StatusOr<std::vector<std::string>> strays = (*rados)->StrayObjects(path, /*remove=*/false);
  if (!strays.ok()) return Fail(strays.status());
  for (const std::string& object : *strays) std::printf("stray object %s\n", object.c_str());
  return strays->empty() ? 0 : 1;
}

}  // namespace
}  // namespace sepal

int main(int argc, char** argv) {
  if (argc < 3) {
    std::printf("usage: rados_writer write|check|verify PATH ...\n");
    return 2;
  }
  return sepal::Run(argc, argv);
}
