// Knows what a database may hold, from what was written to it and what was acknowledged.
//
// Law: after a crash the database is the state after some acknowledged write, not before the last one that was
// acknowledged as durable (after the death of the process alone: that was acknowledged); or, if every acknowledged
// write is there, that with one more that failed, or was under way, after the last acknowledged one.
//
// The prepared transactions are known as a family of their own, by names, so that they too are a state after some
// write.
//
// One writer. Cheap to copy: scripts are short.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sepal::reliability {

// Of the transactions that are prepared, what of each is listed.
inline constexpr char kPreparedFamily[] = "(prepared)";

class Oracle {
 public:
  // Of one family; and of all by name.
  using Contents = std::map<std::string, std::string>;
  using Database = std::map<std::string, Contents>;
  struct Update {
    std::string family;
    std::string key;
    std::optional<std::string> value;  // none: deleted
    bool appends = false;              // behind what the key has, with a comma between
  };

  Oracle() {
    families_["default"] = {.incarnation = 0, .sure = true};
    families_[kPreparedFamily] = {.incarnation = -1, .sure = true};
  }

  // A write is called, and has returned. Between, and if it failed, its outcome is unknown.
  void BeginWrite(const std::vector<Update>& updates);
  void EndWrite(bool acknowledged);
  // Every write that was acknowledged is durable; or those up to the family's last.
  void AllDurable();
  void FamilyDurable(const std::string& family);
  // The same for column families. A creation or drop that succeeded is durable.
  void BeginCreate(const std::string& family);
  void BeginDrop(const std::string& family);
  void EndFamilyCall(const std::string& family, bool done);

  bool Known(const std::string& family) const { return families_.contains(family); }
  bool Usable(const std::string& family) const;
  // What readers must see now; none if a write of unknown outcome was made.
  std::optional<Contents> Now(const std::string& family) const;
  // Whether a read of the key now may give this value (none: not found).
  bool MayRead(const std::string& family, const std::string& key, const std::optional<std::string>& value) const;
  bool HasUnknownWrite() const;

  // Empty if `found` is a state that may be there after an opening; else what is wrong. Takes it for the truth then.
  std::string Settle(const Database& found, bool power_lost);
  // A checkpoint to `path` is called, of what is there now, and has returned.
  void BeginCheckpoint(std::string path, Database contents) {
    checkpoints_.push_back({std::move(path), std::move(contents)});
  }
  void EndCheckpoint(bool done) { checkpoints_.back().done = done; }
  struct Checkpoint {
    std::string path;
    Database contents;
    bool done = false;  // else it may be there whole, or refuse to be opened
  };
  const std::vector<Checkpoint>& checkpoints() const { return checkpoints_; }
  // A named snapshot of what is there now is being created, or one is being dropped; and the call has returned. One
  // that was created is durable, and so is all that it shows.
  void BeginName(const std::string& name, Database contents) { named_[name] = {.contents = std::move(contents)}; }
  void BeginDropOfName(const std::string& name) { named_.at(name).sure = false; }
  void EndNameCall(const std::string& name, bool done, bool drop);
  struct Named {
    Database contents = {};  // of families whose contents were known
    bool sure = false;       // that it is there
  };
  const std::map<std::string, Named>& named() const { return named_; }
  // A family is not that of the name any more.
  void ForgetInNames(const std::string& family);
  // As Settle, for the names that there are.
  std::string SettleNames(const std::vector<std::string>& found);
  // How many writes must be there at least, and how many may.
  std::string Bounds() const;
  size_t durable() const { return durable_; }

 private:
  enum class Outcome : uint8_t { kUnderWay, kAcknowledged, kFailed };
  struct Family {
    int incarnation = 0;
    bool sure = false;      // that it is there
    bool dropping = false;  // a drop was called
  };
  using Key = std::pair<int, std::string>;  // incarnation, key
  using State = std::map<Key, std::string>;
  struct Write {
    struct KeyUpdate {
      Key key;
      std::optional<std::string> value;
      bool appends;
    };
    std::vector<KeyUpdate> updates;
    Outcome outcome = Outcome::kUnderWay;
  };

  static void Apply(const Write& write, State* state);
  size_t LastAcknowledged() const;  // one more than its index; 0 if there is none
  State Acknowledged() const;

  std::map<std::string, Family> families_;
  int incarnations_ = 0;
  State base_;
  std::vector<Write> writes_;  // since `base_`
  size_t durable_ = 0;         // of them
  std::vector<Checkpoint> checkpoints_;
  std::map<std::string, Named> named_;
};

}  // namespace sepal::reliability
