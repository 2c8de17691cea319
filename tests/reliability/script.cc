#include "tests/reliability/script.h"

#include <cctype>
#include <charconv>
#include <map>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "sepal/merge_operator.h"
#include "util/base/strings.h"

namespace sepal::reliability {

namespace {

constexpr uint64_t kScriptKeys = 30;
// Of a range that is deleted, where no end is said.
constexpr uint64_t kRangeKeys = 6;

class Parser {
 public:
  explicit Parser(std::string_view text) : rest_(text) {}

  absl::Status Sequence(bool nested, std::vector<Op>* ops) {
    while (true) {
      while (!rest_.empty() && std::isspace(static_cast<unsigned char>(rest_.front()))) rest_.remove_prefix(1);
      if (rest_.empty()) return nested ? Wrong("a missing }") : absl::OkStatus();
      if (rest_.front() == '}') {
        rest_.remove_prefix(1);
        return nested ? absl::OkStatus() : Wrong("a } too many");
      }
      RETURN_IF_ERROR(std::isdigit(static_cast<unsigned char>(rest_.front())) ? Loop(ops)
                      : rest_.front() == '['                                  ? Batch(ops)
                                                                              : Word(ops));
    }
  }

 private:
  absl::Status Wrong(std::string_view what) const {
    return absl::InvalidArgumentError(absl::StrFormat("script: %s at \"%s\"", what, rest_.substr(0, 20)));
  }
  static bool Eat(std::string_view* text, std::string_view prefix) {
    if (!text->starts_with(prefix)) return false;
    text->remove_prefix(prefix.size());
    return true;
  }
  static bool Number(std::string_view* text, uint64_t* number) {
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), *number);
    if (error != std::errc()) return false;
    text->remove_prefix(static_cast<size_t>(end - text->data()));
    return true;
  }

  absl::Status Loop(std::vector<Op>* ops) {
    uint64_t times = 0;
    if (!Number(&rest_, &times) || !Eat(&rest_, "{")) return Wrong("no loop");
    const std::string_view body = rest_;
    for (uint64_t i = 0; i < times; ++i) {
      rest_ = body;
      RETURN_IF_ERROR(Sequence(/*nested=*/true, ops));
    }
    return absl::OkStatus();
  }

  absl::Status Batch(std::vector<Op>* ops) {
    const size_t end = rest_.find(']');
    if (end == std::string_view::npos) return Wrong("a missing ]");
    Op op{.kind = Op::Kind::kWrite, .batch = true};
    for (const auto word : absl::StrSplit(ToAbsl(rest_.substr(1, end - 1)), ' ', absl::SkipEmpty())) {
      std::string_view update(word.data(), word.size());
      RETURN_IF_ERROR(OneUpdate(&update, &op));
    }
    rest_.remove_prefix(end + 1);
    op.sync = Eat(&rest_, "!");
    if (Eat(&rest_, "@")) op.kind = Op::Kind::kPrepare;
    ops->push_back(std::move(op));
    return absl::OkStatus();
  }

  absl::Status OneUpdate(std::string_view* word, Op* op) {
    Op::Update update;
    if (const size_t slash = word->find('/'); slash != std::string_view::npos) {
      update.family = std::string(word->substr(0, slash));
      word->remove_prefix(slash + 1);
    }
    if (Eat(word, "p")) {
      update.kind = ValueKind::kPut;
    } else if (Eat(word, "w")) {
      update.streamed = true;
    } else if (Eat(word, "x")) {
      update.kind = ValueKind::kExpiringPut;
    } else if (Eat(word, "m")) {
      update.kind = ValueKind::kMerge;
    } else if (Eat(word, "d")) {
      update.kind = ValueKind::kDelete;
    } else if (Eat(word, "s")) {
      update.kind = ValueKind::kSingleDelete;
    } else if (Eat(word, "r")) {
      update.kind = ValueKind::kRangeDelete;
    } else {
      return Wrong("no update");
    }
    if (Eat(word, "+")) {
      update.key = counter_++ % kScriptKeys;
    } else if (Eat(word, "?")) {
      update.key = random_.Uniform(kScriptKeys);
    } else if (!Number(word, &update.key)) {
      return Wrong("no key");
    }
    if (update.kind == ValueKind::kRangeDelete) {
      update.end = update.key + kRangeKeys;
      if (Eat(word, "-") && !Number(word, &update.end)) return Wrong("no end");
    }
    if (Eat(word, "*")) {
      uint64_t bytes = 0;
      if (!Number(word, &bytes)) return Wrong("no size");
      update.value_bytes = bytes;
    }
    op->updates.push_back(std::move(update));
    return absl::OkStatus();
  }

  absl::Status Fill(std::string_view word, std::vector<Op>* ops) {
    uint64_t begin = 0, end = 0, bytes = 24;
    if (!Number(&word, &begin) || !Eat(&word, "-") || !Number(&word, &end)) return Wrong("no range");
    if (Eat(&word, "*") && !Number(&word, &bytes)) return Wrong("no size");
    const bool sync = Eat(&word, "!");
    for (uint64_t key = begin; key < end; ++key) {
      ops->push_back({.kind = Op::Kind::kWrite, .updates = {{.key = key, .value_bytes = bytes}}, .sync = sync});
    }
    return absl::OkStatus();
  }

  absl::Status Word(std::vector<Op>* ops) {
    static const std::map<std::string_view, Op::Kind> kWords = {
        {"flush", Op::Kind::kFlush},       {"compact", Op::Kind::kCompact},
        {"sync", Op::Kind::kSync},         {"wait", Op::Kind::kWait},
        {"verify", Op::Kind::kVerify},     {"create", Op::Kind::kCreateFamily},
        {"drop", Op::Kind::kDropFamily},   {"snap", Op::Kind::kSnapshot},
        {"iter", Op::Kind::kIterator},     {"unsnap", Op::Kind::kLetSnapshotsGo},
        {"read", Op::Kind::kRead},         {"uniter", Op::Kind::kLetIteratorsGo},
        {"reopen", Op::Kind::kReopen},     {"kill", Op::Kind::kKill},
        {"power", Op::Kind::kLosePower},   {"checkpoint", Op::Kind::kCheckpoint},
        {"backup", Op::Kind::kBackup},     {"name", Op::Kind::kName},
        {"unname", Op::Kind::kDropName},   {"commit", Op::Kind::kCommit},
        {"rollback", Op::Kind::kRollback}, {"moment", Op::Kind::kMoment},
    };
    size_t length = 0;
    while (length < rest_.size() && !std::isspace(static_cast<unsigned char>(rest_[length])) && rest_[length] != '}') {
      ++length;
    }
    std::string_view word = rest_.substr(0, length);
    rest_.remove_prefix(length);
    if (Eat(&word, "fill:")) return Fill(word, ops);
    const std::string_view name = word.substr(0, word.find(':'));
    const auto known = kWords.find(name);
    if (known == kWords.end()) {
      Op op{.kind = Op::Kind::kWrite};
      RETURN_IF_ERROR(OneUpdate(&word, &op));
      op.sync = Eat(&word, "!");
      ops->push_back(std::move(op));
      return word.empty() ? absl::OkStatus() : Wrong("a strange word before");
    }
    Op op{.kind = known->second, .begin = 1, .end = 0};
    word.remove_prefix(name.size());
    Eat(&word, ":");
    if (Number(&word, &op.begin)) {
      if (!Eat(&word, "-") || !Number(&word, &op.end)) return Wrong("no range");
    } else {
      op.family = std::string(word);
    }
    ops->push_back(std::move(op));
    return absl::OkStatus();
  }

  std::string_view rest_;
  uint64_t counter_ = 0;
  Random random_{7};
};

}  // namespace

absl::StatusOr<std::vector<Op>> ParseScript(std::string_view text) {
  std::vector<Op> ops;
  RETURN_IF_ERROR(Parser(text).Sequence(/*nested=*/false, &ops));
  return ops;
}

absl::Status Configure(std::string_view settings, TestDatabase* database) {
  Options& options = database->options;
  Tuning& tuning = database->tuning;
  tuning.memtable_bytes = size_t{8} << 10;
  tuning.streamed_from = 100;
  options.info_log = false;
  for (const auto piece : absl::StrSplit(ToAbsl(settings), ' ', absl::SkipEmpty())) {
    const std::string_view word(piece.data(), piece.size());
    if (word == "leveled") {
      options.family.compaction_style = CompactionStyle::kLeveled;
    } else if (word == "none") {
      options.family.compression = CompressionKind::kNone;
    } else if (word == "lz4") {
      options.family.compression = CompressionKind::kLz4;
    } else if (word == "zstd") {
      options.family.compression = CompressionKind::kZstd;
    } else if (word == "logdir") {
      options.log_directory = "/logs";
    } else if (word == "tiny") {
      tuning.memtable_bytes = size_t{4} << 10;
      tuning.table_bytes = size_t{2} << 10;
    } else if (word == "logged") {
      options.info_log = true;
    } else if (word == "mid") {
      tuning.memtable_bytes = size_t{16} << 10;
    } else if (word == "history") {
      options.family.history = std::chrono::hours(1000);
    } else if (word == "merges") {
      options.family.merge_operator = MergeOperators::Append(",");
    } else if (word == "bare") {
      options.family.filter_policy = FilterPolicy::None();
    } else if (word == "roll") {
      tuning.manifest_limit_bytes = 256;
    } else if (word == "shortlog") {
      tuning.log_limit_bytes = uint64_t{6} << 10;
      tuning.log_allocation_bytes = uint64_t{1} << 10;
      tuning.log_ring_bytes = uint64_t{4} << 10;
    } else if (word == "wide") {
      tuning.runs_per_level = 2;
      tuning.fanout = 2;
    } else if (word == "values") {
      options.family.separate_from = 64;
      tuning.value_file_bytes = uint64_t{1} << 10;
    } else if (word == "shortvalues") {
      options.family.separate_from = 64;
      tuning.value_file_bytes = uint64_t{512};
    } else if (word == "unmapped") {
      tuning.log_ring_bytes = 0;
    } else if (word == "onefile") {
      tuning.table_bytes = size_t{64} << 10;
      options.family.block_bytes = 1024;
    } else {
      return absl::InvalidArgumentError(absl::StrFormat("script: no setting \"%s\"", word));
    }
  }
  return absl::OkStatus();
}

}  // namespace sepal::reliability
