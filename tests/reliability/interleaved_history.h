// What transactions did whose calls were interleaved by one thread, from one crash to the next, checked as it grows.
//
// Each call is whole, so the order of commits is known, and with it the order of each key's versions: no value needs to
// tell it. So nothing here grows with the number of transactions that went before, and tens of millions can be checked.
//
//   history.Begin(what stands);
//   history.Read(...), history.Commit(...), history.Prepare(...) as the calls return;
//   history.broken(), history.HasCycle(...); after the crash history.Survive(what stands now).
//
// A value is a number that is written once; kNothing is a key that is not there. A position is a number of commits: the
// state after so many of this history.
//
// A key that was not there, and is not there again, counts as untouched (db/engine/read/newest_update.h): to nobody
// does it make a difference. A transaction that writes is then as if it had read it at its commit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sepal::reliability {

constexpr uint64_t kNothing = 0;

class InterleavedHistory {
 public:
  struct SeenVersion {
    uint32_t key;
    uint32_t version;
    uint64_t value;
  };
  struct Write {
    uint32_t key;
    uint64_t value;
  };
  struct Transaction {
    uint64_t number = 0;
    bool serializable = false;
    std::optional<uint32_t> snapshot = {};  // as of which position it read
    std::vector<SeenVersion> seen = {};     // not what it had written itself
    std::vector<Write> writes = {};         // the last of each key
  };
  struct Standing {
    std::vector<uint64_t> values = {};    // of each key
    std::vector<uint64_t> prepared = {};  // numbers of transactions, sorted
    bool operator==(const Standing&) const = default;
  };

  explicit InterleavedHistory(uint32_t keys) : order_(keys), holders_(keys) {}

  // All of what went before is forgotten, also which transactions hold keys; `broken` stays.
  void Begin(Standing standing);

  // A read that returned `value`, and was to be as of that position. The version that it saw.
  SeenVersion Read(uint64_t number, uint32_t key, uint64_t value, uint32_t position);
  // Nobody else may write the key until it is let go.
  void Hold(uint64_t number, uint32_t key);
  void LetGo(uint64_t number, uint32_t key);
  // What follows is in the order of the log. `durable`: it was synced, and with it all that came before.
  void Prepare(uint64_t number);
  void RollBackPrepared(uint64_t number);
  void Commit(const Transaction& transaction, bool prepared, bool durable);
  void MakeDurable() { durable_ = events_.size(); }

  uint32_t position() const { return commits_; }
  uint64_t Value(uint32_t key) const { return order_[key].back().value; }
  bool ChangedSince(uint32_t key, uint32_t position) const { return order_[key].back().position > position; }
  uint64_t HolderOf(uint32_t key) const { return holders_[key]; }

  // Whether dependencies go in a circle: of all committed transactions' writes, and of the reads of serializable ones
  // or of all.
  bool HasCycle(bool all_reads);

  // What a restart has kept must be what the log had at some moment, not before the last one that is known to be
  // durable; `everything`: after all of it.
  void Survive(const Standing& standing, bool everything);

  // What cannot be in any isolation. Empty: nothing.
  const std::string& broken() const { return broken_; }
  void Break(std::string_view what);

 private:
  struct Version {
    uint64_t value;
    uint32_t node;  // the transaction that wrote it; 0: none of this history
    uint32_t position;
  };
  struct Look {
    uint32_t node;
    uint32_t key;
    uint32_t version;
    bool serializable;
  };
  struct Event {
    size_t writes_end;  // in `written_`
    uint64_t prepares;  // a number, or 0
    uint64_t ends;      // likewise
  };

  uint32_t VersionAt(uint32_t key, uint32_t position) const;
  // Whether the key differs from that version.
  bool DiffersFrom(uint32_t key, uint32_t version) const;
  void CheckOverwritten(const Transaction& transaction, const Write& write);
  void AddEvent(uint64_t prepares, uint64_t ends);
  void CollectEdges(bool all_reads);

  std::vector<std::vector<Version>> order_;  // of each key; the first is what stood at the beginning
  std::vector<uint64_t> holders_;            // of each key, 0: nobody
  uint32_t commits_ = 0;
  std::vector<Look> looks_;
  Standing at_begin_;
  std::vector<Event> events_;
  std::vector<Write> written_;
  size_t durable_ = 0;  // so many events
  std::string broken_;

  // Of HasCycle, kept for their memory.
  struct Edge {
    uint32_t from;
    uint32_t to;
  };
  std::vector<Edge> edges_;
  std::vector<uint32_t> out_, targets_, before_, first_;
};

}  // namespace sepal::reliability
