// The commands of `sepal shell`, on one open database: a line in, text out.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sepal/db.h"
#include "sepal/write_batch.h"
#include "tools/terminal/verb.h"

namespace sepal::tools {

// The words of a line: between blanks, or in double quotes; \xNN stands for a byte, as in the tools' output. Empty for
// a comment, which begins with #. InvalidArgument for an invalid escape, and for a quote that is not closed.
absl::StatusOr<std::vector<std::string>> ShellWords(std::string_view line);

class ShellSession {
 public:
  // The database and the streams must outlive it. `json`: commands print an object a line.
  ShellSession(DB* db, const Streams& io, bool json, WriteOptions write_options)
      : db_(db), io_(io), json_(json), write_options_(write_options) {}

  // A command that returns an error has changed nothing.
  absl::Status Execute(std::string_view line);
  // After quit.
  bool done() const { return done_; }
  // At the end of the commands: FailedPrecondition if a batch was begun and is lost.
  absl::Status Finish();

  // "default> "; with a batch or a snapshot, "default [batch: 2] [snapshot 1]> ".
  std::string Prompt() const;

 private:
  using Words = std::vector<std::string>;
  struct Command {
    std::string_view name;
    std::string_view arguments;
    std::string_view summary;
    size_t least, most;  // words after the name
    absl::Status (ShellSession::*run)(const Words& words);
  };
  static const std::vector<Command>& Commands();

  absl::Status Get(const Words& words);
  absl::Status Put(const Words& words);
  absl::Status Delete(const Words& words);
  absl::Status Scan(const Words& words);
  absl::Status Families(const Words& words);
  absl::Status Use(const Words& words);
  absl::Status Batch(const Words& words);
  absl::Status TakeSnapshot(const Words& words);
  absl::Status Stats(const Words& words);
  absl::Status Property(const Words& words);
  absl::Status Help(const Words& words);
  absl::Status Quit(const Words& words);

  absl::StatusOr<ColumnFamily*> Family();
  absl::StatusOr<uint64_t> SnapshotNumber(const std::string& word) const;
  ReadOptions Reading() const;
  void Print(const std::string& text, nlohmann::json line) const;

  DB* const db_;
  const Streams& io_;
  const bool json_;
  const WriteOptions write_options_;
  std::string family_name_{kDefaultColumnFamilyName};
  std::map<std::string, std::shared_ptr<ColumnFamily>> families_;
  std::optional<WriteBatch> batch_;
  std::map<uint64_t, std::shared_ptr<const Snapshot>> snapshots_;
  uint64_t next_snapshot_ = 1;
  uint64_t used_snapshot_ = 0;  // 0: none
  bool done_ = false;
};

}  // namespace sepal::tools
