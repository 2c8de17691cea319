#include "tests/scripts/reads.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <regex>
#include <sstream>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "util/base/hash.h"
#include "util/base/strings.h"

namespace sepal {

namespace {

constexpr size_t kShortestRun = 8;
constexpr size_t kScanShown = 12;

using Pairs = std::vector<std::pair<std::string, std::string>>;

std::string ShownEntry(std::string_view key, std::string_view value) { return Shown(key) + "=" + Shown(value); }

std::string ShownAnswer(std::string_view key, const absl::StatusOr<std::string>& value) {
  if (value.ok()) return ShownEntry(key, *value);
  return absl::IsNotFound(value.status()) ? "no " + Shown(key) : Shown(key) + ": " + ShownStatus(value.status());
}

// What a way of reading must have in common with the first one.
std::string Answer(const absl::StatusOr<std::string>& value) {
  return value.ok() ? "=" + *value : std::string(absl::StatusCodeToString(value.status().code()));
}

absl::StatusOr<std::string> GetPinned(DB* db, const ColumnFamily& family, std::string_view key,
                                      const ReadOptions& options) {
  PinnedValue value;
  const absl::Status status = db->Get(family, key, value, options);
  if (!status.ok()) return status;
  return std::string(value.value());
}

absl::StatusOr<std::string> GetByMultiGet(DB* db, const ColumnFamily& family, std::string_view key,
                                          const ReadOptions& options) {
  PinnedValue value;
  absl::Status status;
  db->MultiGet(family, {&key, 1}, {&value, 1}, {&status, 1}, options).IgnoreError();
  if (!status.ok()) return status;
  return std::string(value.value());
}

absl::StatusOr<std::string> GetBySeek(DB* db, const ColumnFamily& family, std::string_view key,
                                      const ReadOptions& options, bool backward) {
  const std::unique_ptr<Iterator> it = db->NewIterator(family, options);
  backward ? it->SeekForPrev(key) : it->Seek(key);
  if (it->Valid() && it->key() == key) return std::string(it->value());
  if (!it->status().ok()) return it->status();
  return absl::NotFoundError("no such entry");
}

absl::StatusOr<std::string> GetByExplaining(DB* db, const ColumnFamily& family, std::string_view key,
                                            const ReadOptions& options, const absl::StatusOr<std::string>& expected) {
  const absl::StatusOr<GetExplanation> explained = db->ExplainGet(family, key, options);
  if (!explained.ok()) return explained.status();
  if (!explained->found) return absl::NotFoundError("explained so");
  if (expected.ok() && explained->value_bytes == expected->size()) return expected;
  return std::string(explained->value_bytes, '?');
}

// Where an iterator stands.
std::string Place(const Iterator& iterator) {
  if (iterator.Valid()) return ShownEntry(iterator.key(), iterator.value());
  return iterator.status().ok() ? "end" : ShownStatus(iterator.status());
}

std::string EntriesText(const Pairs& entries) {
  const auto shown = [](const auto& entry) { return ShownEntry(entry.first, entry.second); };
  if (entries.empty()) return "nothing";
  if (entries.size() <= kScanShown) {
    return absl::StrJoin(entries, ", ", [&](std::string* out, const auto& entry) { *out += shown(entry); });
  }
  uint64_t hash = 0;
  for (const auto& [key, value] : entries) hash = Checksum64(value, Checksum64(key, hash));
  return absl::StrFormat("%d entries, %s to %s, hash %s", entries.size(), shown(entries.front()), shown(entries.back()),
                         Hex64(hash));
}

}  // namespace

std::string Shown(std::string_view bytes) {
  if (bytes.empty()) return "\"\"";
  const char last = bytes.back();
  const size_t others = bytes.find_last_not_of(last);
  const size_t run = bytes.size() - (others == std::string_view::npos ? 0 : others + 1);
  if (run < kShortestRun) return Printable(bytes, bytes.size());
  return Printable(bytes.substr(0, bytes.size() - run + 1), bytes.size()) + "*" + std::to_string(run);
}

std::string Meant(std::string_view text) {
  const size_t star = text.rfind('*');
  const std::string_view count = star == std::string_view::npos ? "" : text.substr(star + 1);
  const bool is_run = star > 0 && !count.empty() && count.find_first_not_of("0123456789") == std::string_view::npos;
  if (!is_run) return std::string(text);
  return std::string(text.substr(0, star - 1)) + std::string(std::stoul(std::string(count)), text[star - 1]);
}

std::string ShownStatus(const absl::Status& status) {
  if (status.ok()) return "OK";
  return Masked(absl::StrFormat("%s: %s", absl::StatusCodeToString(status.code()), ToStd(status.message())));
}

std::string Masked(const std::string& text) {
  static const std::regex process("process [0-9]+"), checksum("0x[0-9a-f]{8,16}");
  return std::regex_replace(std::regex_replace(text, process, "process N"), checksum, "0x...");
}

std::string GetText(DB* db, const ColumnFamily& family, const std::vector<std::string>& keys,
                    const ReadOptions& options) {
  std::vector<std::string> texts;
  for (const std::string& key : keys) {
    const absl::StatusOr<std::string> value = db->Get(family, key, options);
    texts.push_back(ShownAnswer(key, value));
    const std::pair<const char*, absl::StatusOr<std::string>> others[] = {
        {"the pinned value", GetPinned(db, family, key, options)},
        {"MultiGet", GetByMultiGet(db, family, key, options)},
        {"Seek", GetBySeek(db, family, key, options, /*backward=*/false)},
        {"SeekForPrev", GetBySeek(db, family, key, options, /*backward=*/true)},
        {"ExplainGet", GetByExplaining(db, family, key, options, value)}};
    for (const auto& [way, other] : others) {
      if (Answer(other) != Answer(value))
        texts.back() += absl::StrFormat(" (BUT %s: %s)", way, ShownAnswer(key, other));
    }
    if (!absl::IsNotFound(value.status()) && !db->KeyMayExist(family, key, options)) {
      texts.back() += " (BUT KeyMayExist says no)";
    }
  }
  return absl::StrJoin(texts, ", ") + "\n";
}

std::string MultiGetText(DB* db, const ColumnFamily& family, const std::vector<std::string>& keys,
                         const ReadOptions& options) {
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  std::vector<PinnedValue> values(keys.size());
  std::vector<absl::Status> statuses(keys.size());
  db->MultiGet(family, views, values, statuses, options).IgnoreError();
  std::vector<std::string> texts;
  for (size_t i = 0; i < keys.size(); ++i) {
    const absl::StatusOr<std::string> value =
        statuses[i].ok() ? absl::StatusOr<std::string>(values[i].value()) : statuses[i];
    texts.push_back(ShownAnswer(keys[i], value));
  }
  return (texts.empty() ? "nothing" : absl::StrJoin(texts, ", ")) + "\n";
}

std::string ScanText(Iterator* iterator) {
  Pairs forward, backward;
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
    forward.emplace_back(iterator->key(), iterator->value());
  }
  std::string text = EntriesText(forward);
  const absl::Status ended = iterator->status();
  for (iterator->SeekToLast(); iterator->Valid(); iterator->Prev()) {
    backward.emplace_back(iterator->key(), iterator->value());
  }
  std::reverse(backward.begin(), backward.end());
  if (!ended.ok()) return absl::StrFormat("%s, then %s; back to %s\n", text, ShownStatus(ended), EntriesText(backward));
  if (!iterator->status().ok()) text += " (BUT backward: " + ShownStatus(iterator->status()) + ")";
  if (backward != forward) text += " (BUT backward: " + EntriesText(backward) + ")";
  for (const auto& [key, value] : forward) {
    iterator->Seek(key);
    if (Place(*iterator) != ShownEntry(key, value)) text += " (BUT Seek: " + Place(*iterator) + ")";
    iterator->SeekForPrev(key + '\0');
    if (Place(*iterator) != ShownEntry(key, value)) text += " (BUT SeekForPrev: " + Place(*iterator) + ")";
  }
  return text + "\n";
}

std::string WalkText(Iterator* iterator, const std::vector<std::string>& moves) {
  std::vector<std::string> places;
  for (size_t i = 0; i < moves.size(); ++i) {
    const std::string& move = moves[i];
    if (move == "first") {
      iterator->SeekToFirst();
    } else if (move == "last") {
      iterator->SeekToLast();
    } else if ((move == "next" || move == "prev") && iterator->Valid()) {
      move == "next" ? iterator->Next() : iterator->Prev();
    } else if (move == "seek" && i + 1 < moves.size()) {
      iterator->Seek(moves[++i]);
    } else if (move == "before" && i + 1 < moves.size()) {
      iterator->SeekForPrev(moves[++i]);
    } else if (move != "here") {
      return "no such move from there: " + move + "\n";
    }
    places.push_back(Place(*iterator));
  }
  return absl::StrJoin(places, ", ") + "\n";
}

std::string TreeText(DB* db, const ColumnFamily& family) {
  const std::optional<std::string> property = db->GetProperty(family, "sepal.sstables");
  if (!property.has_value()) return "no such family\n";
  std::istringstream tables(*property);
  const std::regex format(
      R"re(level (\d+) table \d+ run (\d+), [^,]*, (\d+) entries \((\d+) tombstones\), "(.*)"@\d+:\S+ \.\. "(.*)"@.*)re");
  std::string text, run;
  for (std::string line; std::getline(tables, line);) {
    std::smatch parts;
    if (!std::regex_match(line, parts, format)) return "no table: " + line + "\n";
    if (run != parts.str(2)) {
      text += (text.empty() ? "" : "\n") + ("level " + parts.str(1)) + ":";
      run = parts.str(2);
    }
    const std::string tombstones = parts[4] == "0" ? "" : " (" + parts.str(4) + " deleted)";
    text += absl::StrFormat(" [%s..%s] of %s%s", parts.str(5), parts.str(6), parts.str(3), tombstones);
  }
  return (text.empty() ? "no tables" : text) + "\n";
}

}  // namespace sepal
