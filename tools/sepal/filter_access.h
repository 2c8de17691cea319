// The common parts of the verbs on filters: their files, their kinds, and keys to add or to look up, which are lines of
// a file or of standard input, or the keys of a column family.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sepal/db.h"
#include "sepal/filter/any_filter.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace sepal::tools {

using TakeKey = std::function<absl::Status(std::string_view key)>;

class KeySource {
 public:
  virtual ~KeySource() = default;
  // "words.txt", for messages.
  virtual std::string Name() const = 0;
  // Whether ForEach can be called again and then visits the same keys.
  virtual bool Repeatable() const = 0;
  // Stops at the first error of `take`. Progress goes to `err`, as "<verb> keys: ..." or "<verb> bytes: ...".
  virtual absl::Status ForEach(std::string_view verb, std::ostream& err, const TakeKey& take) const = 0;
};

// The treatment of a line that is hardly meant as a key: an empty one, one of 64 KiB or more, or one that ends with a
// carriage return.
enum class OddLines : uint8_t { kRefuse, kSkip, kTake };

// Each line is a key, without its newline; a last line needs none.
class KeyLines final : public KeySource {
 public:
  static constexpr size_t kMostLineBytes = size_t{16} << 20;

  // `path` empty or "-": `in`. With `hex`, a line has the key's digits. NotFound, or InvalidArgument for a directory.
  // `odd`: for ForEach.
  static absl::StatusOr<KeyLines> Open(const std::string& path, bool hex, std::istream& in,
                                       OddLines odd = OddLines::kTake);

  std::string Name() const override { return from_file_ ? path_ : "standard input"; }
  bool Repeatable() const override { return repeatable_; }
  absl::Status ForEach(std::string_view verb, std::ostream& err, const TakeKey& take) const override;
  // Without progress, and with the original line: for answers that are printed line by line.
  using TakeLine = std::function<absl::Status(std::string_view line, std::string_view key)>;
  absl::Status ForEachLine(const TakeLine& take) const;

 private:
  KeyLines(const std::string& path, bool hex, std::istream& in);
  absl::Status Read(std::istream& from, const std::function<void(uint64_t lines, uint64_t bytes)>& tell,
                    const TakeLine& take) const;
  absl::Status OddLine(uint64_t line, std::string_view key) const;
  bool EndsAsOnWindows(std::string_view key) const { return !hex_ && key.ends_with('\r'); }

  std::string path_;
  bool hex_;
  bool from_file_;
  bool repeatable_ = false;
  uint64_t file_bytes_ = 0;
  std::istream* in_;
  OddLines odd_ = OddLines::kTake;
};

// The keys of a family that begin with `prefix`, as of the opening of the database.
class DatabaseKeys final : public KeySource {
 public:
  DatabaseKeys(DB* db, std::shared_ptr<ColumnFamily> family, std::string prefix, std::string name);

  std::string Name() const override { return name_; }
  bool Repeatable() const override { return true; }
  absl::Status ForEach(std::string_view verb, std::ostream& err, const TakeKey& take) const override;

 private:
  DB* const db_;
  const std::shared_ptr<ColumnFamily> family_;
  const std::string prefix_;
  const std::string name_;
};

// Reads a filter of any kind. Errors contain a remedy: InvalidArgument for a file that is no filter, DataLoss for a
// damaged one.
absl::StatusOr<filters::AnyFilter> ReadFilter(const std::string& path);

// The kind of that name, which must exist.
filters::FilterKind KindNamed(std::string_view name);
// The unit of the size of such a filter: "bits".
std::string_view UnitOf(filters::FilterKind kind);
// Whether the kind is a set, with a rate of false positives; the others are sketches.
inline bool AnswersQuestions(filters::FilterKind kind) {
  return kind != filters::FilterKind::kCountMin && kind != filters::FilterKind::kHyperLogLog;
}
// A rate of false positives, in (0, 1).
CLI::Option* AddRate(CLI::App* app, const std::string& name, double* rate, const std::string& description);
// Turns an error of impossible parameters into a usage error, with a remedy in terms of the command.
absl::Status AsUsage(const absl::Status& status);
// The fields that --json prints of a filter.
nlohmann::json InfoJson(const filters::FilterInfo& info);

// Checks before long work that a file can be created there. It must not be the one that is read (`input`; empty: none).
absl::Status CheckOutput(const std::string& path, const std::string& input = "");

}  // namespace sepal::tools
