// What a database should hold: every version of every key of every column family, in plain maps. Merges append, with
// ";" between. A delete of a range is a delete of each key in it.
//
// A value whose first letter is in the epoch of its family (FirstLetterFilter) is not there, nor what it hides.
//
// Time is counted in batches; batch 0 is the empty database. Not safe for concurrent use.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sepal/comparator.h"
#include "table/key/internal_key.h"

namespace sepal::model {

struct Update {
  std::string family;
  ValueKind kind = ValueKind::kPut;
  std::string key;
  std::string value;
  std::optional<std::string> end = std::nullopt;  // of a range that is deleted; none: up to the last key
  uint64_t expiry_millis = 0;                     // of an expiring put
};

using Entries = std::vector<std::pair<std::string, std::string>>;

class Model {
 public:
  uint64_t latest() const { return latest_; }
  // The time, by which puts have expired at every batch.
  uint64_t now_millis() const { return now_millis_; }
  void AdvanceTo(uint64_t now_millis) { now_millis_ = now_millis; }

  void CreateFamily(const std::string& name, const Comparator* comparator);
  void DropFamily(const std::string& name) { families_.erase(name); }
  bool HasFamily(const std::string& name) const { return families_.contains(name); }
  std::vector<std::string> FamilyNames() const;
  const Comparator* comparator(const std::string& family) const { return families_.at(family).comparator; }

  // One batch; updates of families that do not exist are left out.
  void Apply(const std::vector<Update>& batch);
  // As a batch of its own: the family's epoch from then on.
  void SetEpoch(const std::string& family, const std::string& epoch);
  std::string EpochAt(const std::string& family, uint64_t batch) const;
  // Forgets every batch after this one.
  void TruncateAfter(uint64_t batch);

  // All that can be seen as of `batch`, in order.
  Entries Contents(const std::string& family, uint64_t batch) const;
  std::optional<std::string> Get(const std::string& family, const std::string& key, uint64_t batch) const;
  // How often the key was put since it was last deleted.
  int PutsSinceDeletion(const std::string& family, const std::string& key) const;
  // The last batch that changed the family.
  uint64_t LastBatchOf(const std::string& family) const;

 private:
  struct Version {
    uint64_t batch;
    ValueKind kind;
    std::string key;
    std::string value;
    uint64_t expiry_millis;
  };
  struct Less {
    const Comparator* comparator;
    bool operator()(const std::string& a, const std::string& b) const { return comparator->Compare(a, b) < 0; }
  };
  struct Family {
    const Comparator* comparator;
    std::map<std::string, std::vector<Version>, Less> keys;
    std::map<uint64_t, std::string> epochs = {};  // by their batch
  };
  // As EntryAt, with the filter's word on it.
  std::optional<std::pair<std::string, std::string>> ShownAt(const Family& family, const std::vector<Version>& versions,
                                                             uint64_t batch) const;
  // The key, as the version that decides spells it, and its value.
  std::optional<std::pair<std::string, std::string>> EntryAt(const std::vector<Version>& versions,
                                                             uint64_t batch) const;

  uint64_t latest_ = 0;
  uint64_t now_millis_ = 0;
  std::map<std::string, Family> families_;
};

}  // namespace sepal::model
