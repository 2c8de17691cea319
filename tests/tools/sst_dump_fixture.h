// A table to look at, and the program sst_dump.
#pragma once

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "sepal/file_system.h"
#include "table/file/table_writer.h"
#include "tests/tools/temporary_directory.h"
#include "tools/db_bench/workload.h"
#include "tools/sst_dump/sst_dump.h"

namespace sepal::tools {

constexpr uint64_t kDumpedEntries = 2000;

// 000007.sst, whose keys are numbers of 16 digits.
inline void MakeDumpedTable(const std::string& path) {
  const auto directory = FileSystem::Posix()->OpenDirectory(path, false).value();
  const auto file = directory->OpenForWrite("000007.sst", WriteMode::kCreateNew).value();
  TableWriterOptions options;
  options.hash_seed = 42;
  options.table_id = 4711;
  options.block_bytes = 1024;
  TableWriter writer(options, file.get());
  KeyBuffer key(16);
  ValueGenerator values(0.5, 1, 100);
  for (uint64_t i = 0; i < kDumpedEntries; ++i) {
    ASSERT_TRUE(
        writer.Add({key.Format(i), PackTrailer(SequenceNumber(i + 1), ValueKind::kPut)}, values.Next(100)).ok());
  }
  ASSERT_TRUE(writer.Finish().ok());
  ASSERT_TRUE(file->Close().ok());
}

inline Outcome RunSstDump(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "sst_dump");
  std::vector<const char*> argv;
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  std::ostringstream out, err;
  Outcome outcome;
  outcome.exit = SstDumpMain(static_cast<int>(argv.size()), argv.data(), out, err);
  outcome.out = out.str();
  outcome.err = err.str();
  return outcome;
}

}  // namespace sepal::tools
