// Loses power under a database in memory: what a user of sepal::simulation does.
#include <cstdio>
#include <string>

#include "sepal/db.h"
#include "sepal/simulation/memory_file_system.h"

int main() {
  sepal::MemoryFileSystem disk;
  sepal::Options options{.create_if_missing = true, .memory_limit = size_t{16} << 20};
  options.env.file_system = &disk;
  for (int opening = 0; opening < 2; ++opening) {
    absl::StatusOr<std::unique_ptr<sepal::DB>> db = sepal::DB::Open(options, "/db");
    if (!db.ok()) return std::fprintf(stderr, "%s\n", db.status().ToString().c_str()), 1;
    if (opening == 0) {
      if (!(*db)->Put("durable", "yes", {.sync = true}).ok()) return 1;
      disk.Crash(sepal::CrashMode::kLoseUnsynced);
      continue;
    }
    const absl::StatusOr<std::string> value = (*db)->Get("durable");
    std::printf("after the loss of power: %s\n", value.ok() ? value->c_str() : "lost");
    return value.ok() && *value == "yes" ? 0 : 1;
  }
}
