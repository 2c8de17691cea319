#include "tools/sepal/shell_session.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <ostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/sepal/database_access.h"
#include "tools/terminal/cli.h"
#include "util/base/status.h"
#include "util/base/strings.h"

namespace sepal::tools {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

// Removes the first word of `line` and returns it.
absl::StatusOr<std::string> TakeWord(std::string_view* line) {
  std::string text;
  bool quoted = false;
  size_t i = 0;
  for (; i < line->size(); ++i) {
    const char c = (*line)[i];
    if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && kBlanks.find(c) != std::string_view::npos) {
      break;
    } else {
      text += c;
    }
  }
  if (quoted) return absl::InvalidArgumentError("a quote is not closed; \\x22 stands for one in a key or value");
  line->remove_prefix(i);
  std::optional<std::string> word = Unescaped(text);
  if (!word.has_value()) {
    return absl::InvalidArgumentError("a \\ begins no escape: \\xNN stands for a byte, \\x5c for the backslash itself");
  }
  return *std::move(word);
}

std::string Line(std::string_view text) { return std::string(text) + "\n"; }

}  // namespace

absl::StatusOr<std::vector<std::string>> ShellWords(std::string_view line) {
  std::vector<std::string> words;
  for (;;) {
    line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
    if (line.empty() || (words.empty() && line.starts_with('#'))) return words;
    ASSIGN_OR_RETURN(words.emplace_back(), TakeWord(&line));
  }
}

const std::vector<ShellSession::Command>& ShellSession::Commands() {
  static const std::vector<Command> commands = {
      {"get", "KEY", "print the value of a key", 1, 1, &ShellSession::Get},
      {"put", "KEY VALUE", "write a value", 2, 2, &ShellSession::Put},
      {"delete", "KEY", "delete a key", 1, 1, &ShellSession::Delete},
      {"scan", "[--from KEY] [--to KEY] [--prefix KEY] [--limit N] [--keys] [--reverse]", "print entries in key order",
       0, 11, &ShellSession::Scan},
      {"families", "", "list the column families", 0, 0, &ShellSession::Families},
      {"use", "FAMILY", "go on with another column family", 1, 1, &ShellSession::Use},
      {"batch", "begin|commit|cancel",
       "collect puts and deletes, and write them all at once; reads do not see them before", 1, 1,
       &ShellSession::Batch},
      {"snapshot", "take|list|use N|use none|release N", "read as of a moment", 1, 2, &ShellSession::TakeSnapshot},
      {"stats", "", "levels, statistics and filters", 0, 0, &ShellSession::Stats},
      {"property", "NAME", "print a property of the database", 1, 1, &ShellSession::Property},
      {"help", "", "list the commands", 0, 0, &ShellSession::Help},
      {"quit", "", "end the shell", 0, 0, &ShellSession::Quit},
      {"exit", "", "end the shell", 0, 0, &ShellSession::Quit},
  };
  return commands;
}

absl::Status ShellSession::Execute(std::string_view line) {
  ASSIGN_OR_RETURN(Words words, ShellWords(line));
  if (words.empty()) return absl::OkStatus();
  const std::string name = words.front();
  words.erase(words.begin());
  for (const Command& command : Commands()) {
    if (command.name != name) continue;
    if (words.size() >= command.least && words.size() <= command.most) return (this->*command.run)(words);
    return absl::InvalidArgumentError(
        absl::StrFormat("%s takes %s", name, command.arguments.empty() ? "nothing" : command.arguments));
  }
  std::vector<std::string> names;
  for (const Command& command : Commands()) names.emplace_back(command.name);
  const std::string nearest = Nearest(names, name);
  return absl::InvalidArgumentError(
      absl::StrFormat("there is no command \"%s\"; %s", Escaped(name),
                      nearest.empty() ? "help lists them" : "did you mean " + nearest + "?"));
}

absl::Status ShellSession::Finish() {
  if (!batch_.has_value() || batch_->Count() == 0) return absl::OkStatus();
  const uint64_t lost = batch_->Count();
  batch_.reset();
  return absl::FailedPreconditionError(
      absl::StrFormat("the batch was not committed: nothing of its %s was written", Counted(lost, "update")));
}

std::string ShellSession::Prompt() const {
  std::string prompt = Escaped(family_name_);
  if (batch_.has_value()) prompt += absl::StrFormat(" [batch: %d]", batch_->Count());
  if (used_snapshot_ != 0) prompt += absl::StrFormat(" [snapshot %d]", used_snapshot_);
  return prompt + "> ";
}

absl::StatusOr<ColumnFamily*> ShellSession::Family() {
  std::shared_ptr<ColumnFamily>& family = families_[family_name_];
  if (family == nullptr) {
    ASSIGN_OR_RETURN(family, FamilyNamed(db_, family_name_));
  }
  return family.get();
}

ReadOptions ShellSession::Reading() const {
  ReadOptions options;
  if (used_snapshot_ != 0) options.snapshot = snapshots_.at(used_snapshot_).get();
  return options;
}

void ShellSession::Print(const std::string& text, nlohmann::json line) const {
  if (!json_) {
    io_.out << text;
    return;
  }
  line.update(JsonRow());
  io_.out << ToLine(line) << "\n";
}

absl::Status ShellSession::Get(const Words& words) {
  ASSIGN_OR_RETURN(ColumnFamily* const family, Family());
  absl::StatusOr<std::string> value = db_->Get(*family, words[0], Reading());
  if (absl::IsNotFound(value.status()))
    return absl::NotFoundError(absl::StrFormat("key %s not found", ShownKey(words[0])));
  RETURN_IF_ERROR(value.status());
  Print(Line(Escaped(*value)), {{"key", BytesJson(words[0])}, {"value", BytesJson(*value)}});
  return absl::OkStatus();
}

absl::Status ShellSession::Put(const Words& words) {
  ASSIGN_OR_RETURN(ColumnFamily* const family, Family());
  if (!batch_.has_value()) return WithMemoryRemedy(db_->Put(*family, words[0], words[1], write_options_));
  batch_->Put(*family, words[0], words[1]);
  return absl::OkStatus();
}

absl::Status ShellSession::Delete(const Words& words) {
  ASSIGN_OR_RETURN(ColumnFamily* const family, Family());
  if (!batch_.has_value()) return db_->Delete(*family, words[0], write_options_);
  batch_->Delete(*family, words[0]);
  return absl::OkStatus();
}

absl::Status ShellSession::Scan(const Words& words) {
  ReadOptions options = Reading();
  options.fill_cache = false;
  std::string from, beyond, prefix;
  uint64_t limit = UINT64_MAX;
  bool keys = false, reverse = false;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& flag = words[i];
    if (flag == "--keys" || flag == "--reverse") {
      (flag == "--keys" ? keys : reverse) = true;
      continue;
    }
    std::string* const value = flag == "--from"     ? &from
                               : flag == "--to"     ? &beyond
                               : flag == "--prefix" ? &prefix
                                                    : nullptr;
    if ((value == nullptr && flag != "--limit") || i + 1 == words.size()) {
      return absl::InvalidArgumentError(absl::StrFormat("scan: %s is no flag, or lacks its value", Escaped(flag)));
    }
    const std::string& word = words[++i];
    if (value != nullptr) {
      *value = word;
    } else if (std::from_chars(word.data(), word.data() + word.size(), limit).ptr != word.data() + word.size()) {
      return absl::InvalidArgumentError(absl::StrFormat("scan: --limit %s is no number", Escaped(word)));
    }
  }
  from = std::max(from, prefix);
  const std::optional<std::string> end = prefix.empty() ? std::nullopt : EndOfPrefix(prefix);
  if (end.has_value() && (beyond.empty() || *end < beyond)) beyond = *end;
  if (!from.empty()) options.lower_bound = from;
  if (!beyond.empty()) options.upper_bound = beyond;
  options.keys_only = keys;
  ASSIGN_OR_RETURN(ColumnFamily* const family, Family());
  const std::unique_ptr<Iterator> it = db_->NewIterator(*family, options);
  reverse ? it->SeekToLast() : it->SeekToFirst();
  for (; it->Valid() && limit > 0 && io_.out; reverse ? it->Prev() : it->Next(), --limit) {
    nlohmann::json line = {{"key", BytesJson(it->key())}};
    if (!keys) line["value"] = BytesJson(it->value());
    Print(Line(Escaped(it->key()) + (keys ? "" : "\t" + Escaped(it->value()))), line);
  }
  return it->status();
}

absl::Status ShellSession::Families(const Words&) {
  for (const std::string& name : db_->ColumnFamilyNames()) Print(Line(Escaped(name)), {{"family", BytesJson(name)}});
  return absl::OkStatus();
}

absl::Status ShellSession::Use(const Words& words) {
  RETURN_IF_ERROR(FamilyNamed(db_, words[0]).status());
  family_name_ = words[0];
  return absl::OkStatus();
}

absl::Status ShellSession::Batch(const Words& words) {
  const std::string& what = words[0];
  if (what == "begin") {
    if (batch_.has_value()) return absl::FailedPreconditionError("a batch is there already: commit or cancel it");
    batch_.emplace();
    return absl::OkStatus();
  }
  if (what != "commit" && what != "cancel") {
    return absl::InvalidArgumentError("batch takes begin, commit or cancel");
  }
  if (!batch_.has_value()) return absl::FailedPreconditionError("there is no batch; batch begin begins one");
  if (what == "commit") RETURN_IF_ERROR(WithMemoryRemedy(db_->Write(*batch_, write_options_)));
  batch_.reset();
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> ShellSession::SnapshotNumber(const std::string& word) const {
  uint64_t number = 0;
  const auto end = std::from_chars(word.data(), word.data() + word.size(), number).ptr;
  if (end == word.data() + word.size() && snapshots_.contains(number)) return number;
  return absl::NotFoundError(absl::StrFormat("there is no snapshot %s; snapshot list lists them", Escaped(word)));
}

absl::Status ShellSession::TakeSnapshot(const Words& words) {
  const std::string& what = words[0];
  if (words.size() == 1 && what == "take") {
    const uint64_t number = next_snapshot_++;
    snapshots_[number] = db_->GetSnapshot();
    Print(absl::StrFormat("%d\n", number), {{"snapshot", number}});
    return absl::OkStatus();
  }
  if (words.size() == 1 && what == "list") {
    for (const auto& [number, snapshot] : snapshots_) {
      const bool used = number == used_snapshot_;
      Print(absl::StrFormat("%d%s\n", number, used ? " (in use)" : ""), {{"snapshot", number}, {"used", used}});
    }
    return absl::OkStatus();
  }
  if (words.size() != 2 || (what != "use" && what != "release")) {
    return absl::InvalidArgumentError("snapshot takes take, list, use N, use none or release N");
  }
  if (what == "use" && words[1] == "none") {
    used_snapshot_ = 0;
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const uint64_t number, SnapshotNumber(words[1]));
  if (what == "use") {
    used_snapshot_ = number;
    return absl::OkStatus();
  }
  if (number == used_snapshot_) used_snapshot_ = 0;
  snapshots_.erase(number);
  return absl::OkStatus();
}

absl::Status ShellSession::Stats(const Words&) { return Property({"sepal.stats"}); }

absl::Status ShellSession::Property(const Words& words) {
  ASSIGN_OR_RETURN(ColumnFamily* const family, Family());
  const std::string name = (words[0].starts_with("sepal.") ? "" : "sepal.") + words[0];
  const std::optional<std::string> value = db_->GetProperty(*family, name);
  if (!value.has_value()) {
    return absl::NotFoundError(
        absl::StrFormat("there is no property %s; sepal db property DIR lists them", Escaped(name)));
  }
  Print(value->ends_with('\n') ? *value : Line(*value), {{"name", name}, {"value", *value}});
  return absl::OkStatus();
}

absl::Status ShellSession::Help(const Words&) {
  std::string text;
  for (const Command& command : Commands()) {
    const std::string usage = absl::StrFormat("%s %s", command.name, command.arguments);
    const bool fits = usage.size() <= 40;
    if (!fits) absl::StrAppend(&text, usage, "\n");
    absl::StrAppendFormat(&text, "%-40s  %s\n", fits ? usage : "", command.summary);
  }
  text += "Words stand between blanks or in \"quotes\"; \\xNN stands for a byte, \\x5c for \\ and \\x22 for \".\n";
  Print(text, {{"text", text}});
  return absl::OkStatus();
}

absl::Status ShellSession::Quit(const Words&) {
  done_ = true;
  return absl::OkStatus();
}

}  // namespace sepal::tools
