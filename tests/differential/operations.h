// One sequence of operations for many stores: all of them must read the same.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sepal::reliability {

// A store under test. An error of its own goes to `error`, once.
class Subject {
 public:
  using Entries = std::vector<std::pair<std::string, std::string>>;
  struct Update {
    std::string key;
    std::optional<std::string> value;  // none: deleted
  };
  static constexpr int kNow = -1;

  virtual ~Subject() = default;
  virtual void Write(const std::vector<Update>& batch, bool sync) = 0;
  // As of a snapshot by its index, or of now.
  virtual std::optional<std::string> Get(const std::string& key, int snapshot) = 0;
  // The first `limit` entries in [begin, end), or the last ones, backwards.
  virtual Entries Scan(const std::string& begin, const std::string& end, bool backwards, size_t limit,
                       int snapshot) = 0;
  // Snapshots are numbered from 0; all are released at once.
  virtual void TakeSnapshot() = 0;
  virtual void LetSnapshotsGo() = 0;
  virtual void Flush() = 0;
  virtual void Compact(const std::string& begin, const std::string& end) = 0;
  // Requires that no snapshot is held.
  virtual void Reopen() = 0;

  std::string error;
};

// The truth: an ordered map.
std::unique_ptr<Subject> MakeMapSubject();
// Sepal in memory. `set` below kFixedOptionSets: one of the fixed sets; else drawn from it. Each reopening goes on to
// the next set, where `wander` says so.
inline constexpr uint64_t kFixedOptionSets = 36;
std::unique_ptr<Subject> MakeSepalSubject(uint64_t set, bool wander);

// The results of all reads of the sequence drawn from `seed`, as hashes, in order.
std::vector<uint64_t> RunOperations(uint64_t seed, int operations, Subject* subject);
// Empty if both are the same, else the first difference.
std::string Compare(const std::vector<uint64_t>& expected, const std::vector<uint64_t>& got, const Subject& subject);

}  // namespace sepal::reliability
