// Any bytes as sst_dump's input file, under every command: it ends by itself, with an exit code that it promises. The
// first byte chooses the command, the second whether the bytes are taken as they are or as changes of a whole table.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>

#include "tests/table/file/table_fixture.h"
#include "tools/sst_dump/sst_dump.h"
#include "tools/terminal/cli.h"
#include "util/base/check.h"

namespace {

using namespace sepal;

const std::string& Whole() {
  static const std::string whole = [] {
    TableWriterOptions options = TestWriterOptions();
    options.block_bytes = 256;
    options.blocks_per_leaf_page = 2;
    return WriteTable(options, EvenEntries(30, 15));
  }();
  return whole;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const char* const kCommands[] = {"--command=check",      "--command=scan",     "--command=raw",
                                          "--command=verify",     "--command=identify", "--command=filters",
                                          "--command=recompress", "--command=none"};
  static const std::string stem = "sepal_sst_dump_fuzz_" + std::to_string(::getpid());
  static const std::string path = "/tmp/" + stem + ".sst";
  if (size < 2) return 0;
  std::string contents(reinterpret_cast<const char*>(data) + 2, size - 2);
  if ((data[1] & 1) != 0) {
    std::string changed = Whole();
    for (size_t i = 0; i + 3 <= contents.size(); i += 3) {
      const size_t place = static_cast<uint8_t>(contents[i]) | static_cast<uint8_t>(contents[i + 1]) << 8;
      changed[place % changed.size()] = contents[i + 2];
    }
    contents = changed;
  }
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  SEPAL_CHECK(file != nullptr);
  SEPAL_CHECK(std::fwrite(contents.data(), 1, contents.size(), file) == contents.size());
  std::fclose(file);
  const std::string argument = "--file=" + path;
  const char* const argv[] = {"sst_dump", argument.c_str(), kCommands[data[0] % 8], "--show_properties"};
  std::ostringstream out, err;
  const int exit = tools::SstDumpMain(4, argv, out, err);
  SEPAL_CHECK(exit == tools::kExitOk || exit == tools::kExitError || exit == tools::kExitDamage);
  ::unlink(path.c_str());
  ::unlink((stem + "_dump.txt").c_str());  // what raw writes
  return 0;
}
