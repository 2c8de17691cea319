// The fixture of tests of the write-ahead log: a directory whose calls can fail and whose power can be lost, and the
// batches that recovery delivers.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "db/act/log/log_recovery.h"
#include "db/act/log/write_ahead_log.h"
#include "sepal/simulation/fault_file_system.h"
#include "sepal/simulation/memory_file_system.h"
#include "sepal/write_batch.h"

namespace sepal {

class LogFixture : public testing::Test {
 protected:
  static constexpr uint64_t kDatabase = 0xdb;

  explicit LogFixture(MemoryFileSystem memory = MemoryFileSystem()) : memory_(std::move(memory)) { Reopen(); }

  // Recovers like a process that has just started.
  void Reopen() {
    auto directory = faults_.OpenDirectory("db", true);
    ASSERT_TRUE(directory.ok()) << directory.status();
    directory_ = *std::move(directory);
    ASSERT_TRUE(directory_->Sync().ok());
  }

  void RemoveAll() {
    const std::vector<DirectoryEntry> entries = directory_->List().value();
    for (const DirectoryEntry& entry : entries) ASSERT_TRUE(directory_->Remove(entry.name).ok());
  }

  static LogOptions Options() {
    LogOptions options;
    options.database_id = kDatabase;
    options.random_seed = 7;
    options.allocation_step_bytes = 1024;
    options.max_fragment_bytes = 4096;
    return options;
  }
  static LogStart FirstLog() { return LogStart{.number = FileNumber(1), .manifest = {FileNumber(9), 99}}; }

  static std::string Batch(std::string_view text, int entries = 1) {
    WriteBatch batch;
    for (int i = 0; i < entries; ++i) batch.Put(text, "");
    return batch.bytes();
  }
  static std::string Delivered(uint64_t sequence, std::string_view text, int entries = 1) {
    return absl::StrFormat("%u %s", sequence, Batch(text, entries));
  }

  // `delivered_` gets what recovery delivers.
  absl::StatusOr<LogRecovery> Recover(LogRecoveryOptions options = {}) {
    options.database_id = kDatabase;
    delivered_.clear();
    auto logs = ListLogs(directory_.get());
    if (!logs.ok()) return logs.status();
    return RecoverLogs(directory_.get(), *logs, options, [&](SequenceNumber first, std::string_view batch) {
      delivered_.push_back(absl::StrFormat("%u %s", first.value(), batch));
      return absl::OkStatus();
    });
  }

  MemoryFileSystem memory_;
  FaultFileSystem faults_{&memory_};
  std::unique_ptr<Directory> directory_;
  std::vector<std::string> delivered_;
};

}  // namespace sepal
