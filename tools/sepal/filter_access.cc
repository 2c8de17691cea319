#include "tools/sepal/filter_access.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <istream>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "tools/sepal/database_access.h"
#include "tools/terminal/cli.h"
#include "tools/terminal/progress.h"
#include "util/base/status.h"
#include "util/base/strings.h"

namespace sepal::tools {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kProgressKeys = 256;
constexpr size_t kMagicBytes = 8;
constexpr uint64_t kReadStepBytes = uint64_t{1} << 20;
constexpr size_t kLineStepBytes = size_t{64} << 10;
constexpr size_t kLongLineBytes = size_t{64} << 10;  // hardly a key

absl::Status CheckReadable(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error))
    return absl::InvalidArgumentError(absl::StrFormat("%s is a directory, and no file", path));
  if (access(path.c_str(), R_OK) == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, absl::StrFormat("%s cannot be read", path));
}

absl::Status CutShort(const std::string& name) {
  return absl::InternalError(absl::StrFormat("%s could not be read to its end: reading failed", name));
}

// Reads a line as std::getline does, but stops with `*too_long` once it has more than kMostLineBytes, because a file
// without line ends could take all memory.
bool GetLine(std::istream& from, std::string* line, bool* too_long) {
  line->clear();
  *too_long = false;
  char step[kLineStepBytes];
  for (;;) {
    from.getline(step, sizeof step);
    const auto got = static_cast<size_t>(from.gcount());
    // The newline is counted, and not stored.
    line->append(step, from.good() ? got - 1 : got);
    if (from.good()) return true;
    if (from.eof()) return !line->empty();
    if (from.bad() || got == 0) return false;
    from.clear();  // the step was full
    *too_long = line->size() > KeyLines::kMostLineBytes;
    if (*too_long) return false;
  }
}

// Appends the rest of the file, which may be a pipe.
absl::Status ReadOn(const std::string& path, std::ifstream* file, std::string* bytes) {
  std::error_code error;
  const uint64_t size = fs::file_size(path, error);
  uint64_t step = error || size < bytes->size() ? kReadStepBytes : size - bytes->size() + 1;
  while (file->good() && bytes->size() <= filters::kMostFilterBytes) {
    const size_t have = bytes->size();
    bytes->resize(have + step);
    file->read(bytes->data() + have, static_cast<std::streamsize>(step));
    bytes->resize(have + static_cast<size_t>(file->gcount()));
    step = kReadStepBytes;
  }
  return file->eof() ? absl::OkStatus() : CutShort(path);
}

}  // namespace

KeyLines::KeyLines(const std::string& path, bool hex, std::istream& in)
    : path_(path), hex_(hex), from_file_(!path.empty() && path != "-"), in_(&in) {}

absl::StatusOr<KeyLines> KeyLines::Open(const std::string& path, bool hex, std::istream& in, OddLines odd) {
  KeyLines lines(path, hex, in);
  lines.odd_ = odd;
  if (!lines.from_file_) return lines;
  RETURN_IF_ERROR(CheckReadable(path));
  std::error_code error;
  lines.repeatable_ = fs::is_regular_file(path, error);
  if (lines.repeatable_) lines.file_bytes_ = fs::file_size(path, error);
  if (error) lines.file_bytes_ = 0;
  return lines;
}

absl::Status KeyLines::ForEach(std::string_view verb, std::ostream& err, const TakeKey& take) const {
  uint64_t line = 0;
  const auto take_line = [&](std::string_view, std::string_view key) -> absl::Status {
    ++line;
    const bool odd = key.empty() || key.size() >= kLongLineBytes || EndsAsOnWindows(key);
    if (!odd || odd_ == OddLines::kTake) return take(key);
    return odd_ == OddLines::kSkip ? absl::OkStatus() : OddLine(line, key);
  };
  Progress progress(absl::StrFormat("%s %s", verb, repeatable_ ? "bytes" : "keys"), file_bytes_, err,
                    StandardErrorIsTerminal());
  const auto tell = [&](uint64_t lines, uint64_t bytes) { progress.Update(repeatable_ ? bytes : lines); };
  if (!from_file_) return Read(*in_, tell, take_line);
  std::ifstream file(path_, std::ios::binary);
  return Read(file, tell, take_line);
}

absl::Status KeyLines::OddLine(uint64_t line, std::string_view key) const {
  if (EndsAsOnWindows(key)) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s, line %u ends with a carriage return, which would be a part of the key: remove them all "
                        "(tr -d '\\r'), or add them with --odd-lines take",
                        Name(), line));
  }
  const std::string what = key.empty() ? "is empty" : absl::StrFormat("has a key of %s", HumanBytes(key.size()));
  return absl::InvalidArgumentError(
      absl::StrFormat("%s, line %u %s, which is hardly meant as a key: --odd-lines skip leaves such lines out, and "
                      "--odd-lines take adds them",
                      Name(), line, what));
}

absl::Status KeyLines::ForEachLine(const TakeLine& take) const {
  const auto tell = [](uint64_t, uint64_t) {};
  if (!from_file_) return Read(*in_, tell, take);
  std::ifstream file(path_, std::ios::binary);
  return Read(file, tell, take);
}

absl::Status KeyLines::Read(std::istream& from, const std::function<void(uint64_t, uint64_t)>& tell,
                            const TakeLine& take) const {
  uint64_t lines = 0, bytes = 0;
  bool too_long = false;
  for (std::string line, key; GetLine(from, &line, &too_long);) {
    ++lines;
    bytes += line.size() + 1;
    if (hex_) {
      absl::StatusOr<std::string> given = BytesFrom(line, /*hex=*/true);
      if (!given.ok()) {
        return absl::InvalidArgumentError(
            absl::StrFormat("%s, line %u: %s", Name(), lines, ToStd(given.status().message())));
      }
      key = *std::move(given);
    }
    RETURN_IF_ERROR(take(line, hex_ ? key : line));
    if (lines % kProgressKeys == 0) tell(lines, bytes);
  }
  if (too_long) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s, line %u is longer than %s: keys are lines of text, or "
                        "hexadecimal ones with --hex",
                        Name(), lines + 1, HumanBytes(kMostLineBytes)));
  }
  return from.eof() ? absl::OkStatus() : CutShort(Name());
}

DatabaseKeys::DatabaseKeys(DB* db, std::shared_ptr<ColumnFamily> family, std::string prefix, std::string name)
    : db_(db), family_(std::move(family)), prefix_(std::move(prefix)), name_(std::move(name)) {}

absl::Status DatabaseKeys::ForEach(std::string_view verb, std::ostream& err, const TakeKey& take) const {
  uint64_t total = 0;
  if (prefix_.empty()) {
    ASSIGN_OR_RETURN(const Properties properties, db_->GetProperties(*family_));
    total = properties.entries;
  }
  Progress progress(absl::StrFormat("%s keys", verb), total, err, StandardErrorIsTerminal());
  ReadOptions options;
  options.fill_cache = false;
  options.keys_only = true;
  options.prefix = prefix_;
  const std::unique_ptr<Iterator> it = db_->NewIterator(*family_, options);
  uint64_t keys = 0;
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    RETURN_IF_ERROR(take(it->key()));
    if (++keys % kProgressKeys == 0) progress.Update(keys);
  }
  return it->status();
}

absl::StatusOr<filters::AnyFilter> ReadFilter(const std::string& path) {
  RETURN_IF_ERROR(CheckReadable(path));
  std::ifstream file(path, std::ios::binary);
  std::string bytes(kMagicBytes, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<size_t>(file.gcount()));
  if (bytes.empty() && !file.bad()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s is empty, and no filter; sepal filter build makes filters", path));
  }
  // A file that is no filter may be large.
  const absl::Status begins = filters::ParseFilter(bytes, path).status();
  if (absl::IsInvalidArgument(begins)) {
    return absl::InvalidArgumentError(absl::StrFormat("%s; sepal filter build makes filters", ToStd(begins.message())));
  }
  RETURN_IF_ERROR(ReadOn(path, &file, &bytes));
  absl::StatusOr<filters::AnyFilter> filter = filters::ParseFilter(bytes, path);
  if (!absl::IsDataLoss(filter.status())) return filter;
  return absl::DataLossError(
      absl::StrFormat("%s; copy the file again, or build it anew", ToStd(filter.status().message())));
}

filters::FilterKind KindNamed(std::string_view name) {
  for (uint8_t number = 1; number != 0; ++number) {
    const auto kind = static_cast<filters::FilterKind>(number);
    if (filters::NameOf(kind) == name) return kind;
  }
  return {};
}

CLI::Option* AddRate(CLI::App* app, const std::string& name, double* rate, const std::string& description) {
  const auto check = [](std::string& text) -> std::string {
    double number = 0;
    if (absl::SimpleAtod(text, &number) && number > 0 && number < 1) return "";
    return "\"" + text + "\" is not a rate: write a number between 0 and 1, such as 0.01 or 1e-6";
  };
  return app->add_option(name, *rate, description)->check(CLI::Validator(check, "RATE"));
}

absl::Status AsUsage(const absl::Status& status) {
  if (!absl::IsInvalidArgument(status)) return status;
  std::string message(ToStd(status.message()));
  const std::string_view classic = "the classic layout";
  if (const size_t at = message.find(classic); at != std::string::npos) {
    message.replace(at, classic.size(), "--kind bloom");
  }
  return absl::CancelledError(message);
}

std::string_view UnitOf(filters::FilterKind kind) {
  switch (kind) {
    case filters::FilterKind::kCountingBloom:
    case filters::FilterKind::kCountMin:
      return "counters";
    case filters::FilterKind::kFingerprintTable:
    case filters::FilterKind::kStatic:
      return "slots";
    case filters::FilterKind::kHyperLogLog:
      return "registers";
    case filters::FilterKind::kClassicBloom:
    case filters::FilterKind::kBlockedBloom:
    case filters::FilterKind::kPartitionedBloom:
    case filters::FilterKind::kAgeing:
    case filters::FilterKind::kTwoGenerations:
    case filters::FilterKind::kScalableBloom:
      return "bits";
  }
  return "";
}

nlohmann::json InfoJson(const filters::FilterInfo& info) {
  nlohmann::json json = {
      {"kind", filters::NameOf(info.kind)}, {"seed", info.seed}, {"keys", info.keys}, {"bytes", info.memory_bytes}};
  json[std::string(UnitOf(info.kind))] = info.size;
  if (info.probes > 0) json["hashes"] = info.probes;
  if (info.width > 0) json["width"] = info.width;
  // null: every bit is set.
  json["estimated_keys"] = info.estimated_keys;
  if (!AnswersQuestions(info.kind)) return json;
  json["fill"] = info.fill;
  json["rate"] = info.false_positive_rate;
  return json;
}

absl::Status CheckOutput(const std::string& path, const std::string& input) {
  RETURN_IF_ERROR(CheckOutputName(path));
  const auto refused = [&](std::string_view why) {
    return absl::FailedPreconditionError(
        absl::StrFormat("%s cannot be written: %s; choose another file with --output", path, why));
  };
  std::error_code error;
  const fs::file_status there = fs::status(path, error);
  if (fs::is_directory(there)) return refused("it is a directory");
  if (fs::exists(there) && !fs::is_regular_file(there)) return refused("it is no regular file");
  if (!input.empty() && fs::equivalent(path, input, error)) return refused("it is what is read");
  fs::path parent = fs::path(path).parent_path();
  if (parent.empty()) parent = ".";
  if (!fs::exists(parent, error)) return refused(absl::StrFormat("%s does not exist", parent.string()));
  if (access(parent.c_str(), W_OK | X_OK) != 0) return refused(absl::StrFormat("%s is not writable", parent.string()));
  return absl::OkStatus();
}

}  // namespace sepal::tools
