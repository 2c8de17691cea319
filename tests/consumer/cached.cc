// A database through a cache of table bytes: opened, written, read back. Local files have no names that never come
// again, so that nothing is kept of them.
#include <cstdlib>
#include <string>

#include "sepal/cached_file_system.h"
#include "sepal/db.h"

int main(int argc, char** argv) {
  if (argc != 2) return EXIT_FAILURE;
  const std::string path = argv[1];
  const auto cached = sepal::CachedFileSystem::Open(
      sepal::FileSystem::Posix(), {.directory = path + "/cache", .bytes = uint64_t{1} << 20, .file_system = nullptr});
  if (!cached.ok() || !(*cached)->CacheStatus().ok()) return EXIT_FAILURE;
  sepal::Options options{.create_if_missing = true};
  options.env.file_system = cached->get();
  const auto db = sepal::DB::Open(options, path + "/db");
  if (!db.ok() || !(*db)->Put("key", "value").ok() || !(*db)->Flush().ok()) return EXIT_FAILURE;
  const bool right = (*db)->Get("key").value_or("") == "value" && (*cached)->Counts().bytes == 0;
  return right && (*db)->Close().ok() ? EXIT_SUCCESS : EXIT_FAILURE;
}
