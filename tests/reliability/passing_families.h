// Column families that come and go beside other work, one after another, and what must be there of them.
//
// A batch of a history may join the family that is there: it puts its mark there, too. What must be:
// - whoever sees the family sees the marks of just those batches that he sees elsewhere;
// - a batch is refused only where the family that it joined is being dropped, and is nowhere then;
// - an iterator beside the drop is refused, or sees all that it would have seen without it;
// - after an opening a family is there unless it was dropped, and gone if its drop was acknowledged; one of which
//   neither was is there whole or not at all.
//
// For simulated threads: nothing switches between two calls of the database.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sepal/write_batch.h"
#include "tests/db/engine/test_database.h"
#include "util/base/random.h"

namespace sepal::reliability {

class PassingFamilies {
 public:
  // Both must outlive this. Once the world has ended nothing is acknowledged.
  PassingFamilies(TestDatabase* database, const bool* world_ended) : database_(database), world_ended_(world_ended) {}

  // Makes a family if there is none; else flushes, merges or drops the one that is.
  absl::Status Operate(Random* random);
  // Puts the mark of batch `number` into the family that is there, if one is.
  void Join(int number, const std::string& mark, WriteBatch* batch);
  // Whether `status` says that the family which the batch joined is being dropped, and may. It wrote nothing then.
  bool Refused(int number, const absl::Status& status);

  // What is wrong of the family that is there, beside `batches`, all that the snapshot holds; empty if nothing is.
  absl::StatusOr<std::string> Check(const Snapshot* snapshot, const std::set<int>& batches);
  // The same of all families after an opening.
  absl::StatusOr<std::string> CheckOpened(const std::set<int>& batches);
  // Before the database goes.
  void LetGo();
  // Of which there may be several at once.
  bool DropUnderWay() const { return drops_under_way_ > 0; }

 private:
  struct Family {
    std::string name;
    bool made = false;  // acknowledged
    std::shared_ptr<ColumnFamily> handle = {};
    int drops = 0;         // calls, without those that surely did nothing
    bool dropped = false;  // acknowledged
    std::set<int> joined = {};
  };

  absl::Status Create();
  absl::Status Drop(Family* family);
  // The newest, if it was made and no drop was acknowledged.
  Family* There();
  absl::StatusOr<std::set<int>> Marks(Iterator* it);
  static std::string Compare(const Family& family, const std::set<int>& marks, const std::set<int>& batches);

  TestDatabase* const database_;
  const bool* const world_ended_;
  std::vector<std::unique_ptr<Family>> families_;
  int drops_under_way_ = 0;
};

}  // namespace sepal::reliability
