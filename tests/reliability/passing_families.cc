#include "tests/reliability/passing_families.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "absl/strings/str_format.h"
#include "util/base/status.h"

namespace sepal::reliability {

PassingFamilies::Family* PassingFamilies::There() {
  if (families_.empty()) return nullptr;
  Family* const newest = families_.back().get();
  return newest->made && !newest->dropped ? newest : nullptr;
}

absl::Status PassingFamilies::Operate(Random* random) {
  Family* const family = There();
  if (family == nullptr) return Create();
  const std::shared_ptr<ColumnFamily> handle = family->handle;
  const uint64_t drawn = random->Uniform(10);
  if (drawn < 5) {
    // Of the others, beside the drop.
    if (drawn < 3) RETURN_IF_ERROR(database_->db->Flush({.wait = false}));
    database_->world->BeginOperation();
    return Drop(family);
  }
  const absl::Status status = drawn < 9 ? database_->db->Flush(*handle) : database_->db->CompactRange(*handle);
  return absl::IsFailedPrecondition(status) && family->drops > 0 ? absl::OkStatus() : status;
}

absl::Status PassingFamilies::Create() {
  if (!families_.empty() && !families_.back()->made) return absl::OkStatus();  // another makes it, or could not
  families_.push_back(std::make_unique<Family>(Family{.name = absl::StrFormat("passing%u", families_.size())}));
  Family* const family = families_.back().get();
  ASSIGN_OR_RETURN(family->handle, database_->db->CreateColumnFamily(family->name, database_->options.family));
  family->made = !*world_ended_;
  return absl::OkStatus();
}

absl::Status PassingFamilies::Drop(Family* family) {
  ++family->drops;
  ++drops_under_way_;
  const absl::Status status = database_->db->DropColumnFamily(*family->handle);
  --drops_under_way_;
  const bool too_late = absl::IsFailedPrecondition(status) && family->drops > 1;
  if (too_late || absl::IsResourceExhausted(status)) --family->drops;
  if (status.ok() && !*world_ended_) family->dropped = true;
  return too_late ? absl::OkStatus() : status;
}

void PassingFamilies::Join(int number, const std::string& mark, WriteBatch* batch) {
  Family* const family = There();
  if (family == nullptr) return;
  batch->Put(*family->handle, mark, "");
  family->joined.insert(number);
}

bool PassingFamilies::Refused(int number, const absl::Status& status) {
  if (!absl::IsFailedPrecondition(status)) return false;
  const auto family = std::find_if(families_.begin(), families_.end(),
                                   [&](const auto& candidate) { return candidate->joined.contains(number); });
  return family != families_.end() && (*family)->drops > 0;
}

absl::StatusOr<std::set<int>> PassingFamilies::Marks(Iterator* it) {
  std::set<int> marks;
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    marks.insert(std::atoi(std::string(it->key().substr(std::string_view("mark").size())).c_str()));
  }
  RETURN_IF_ERROR(it->status());
  return marks;
}

std::string PassingFamilies::Compare(const Family& family, const std::set<int>& marks, const std::set<int>& batches) {
  std::set<int> expected;
  std::set_intersection(family.joined.begin(), family.joined.end(), batches.begin(), batches.end(),
                        std::inserter(expected, expected.end()));
  if (marks == expected) return "";
  return absl::StrFormat("%s has the marks of %u batches and not of %u", family.name, marks.size(), expected.size());
}

absl::StatusOr<std::string> PassingFamilies::Check(const Snapshot* snapshot, const std::set<int>& batches) {
  const Family* const family = There();
  if (family == nullptr) return "";
  const std::unique_ptr<Iterator> it = database_->db->NewIterator(*family->handle, {.snapshot = snapshot});
  if (family->drops > 0 && absl::IsFailedPrecondition(it->status())) return "";
  ASSIGN_OR_RETURN(const std::set<int> marks, Marks(it.get()));
  return Compare(*family, marks, batches);
}

absl::StatusOr<std::string> PassingFamilies::CheckOpened(const std::set<int>& batches) {
  for (const std::unique_ptr<Family>& family : families_) {
    const bool surely_there = family->made && family->drops == 0;
    const absl::StatusOr<std::shared_ptr<ColumnFamily>> handle = database_->db->FindColumnFamily(family->name);
    if (absl::IsNotFound(handle.status())) {
      if (surely_there) return absl::StrFormat("%s is missing", family->name);
      continue;
    }
    RETURN_IF_ERROR(handle.status());
    if (family->dropped) return absl::StrFormat("%s was dropped and is there", family->name);
    const std::unique_ptr<Iterator> it = database_->db->NewIterator(**handle);
    ASSIGN_OR_RETURN(const std::set<int> marks, Marks(it.get()));
    const std::string wrong = Compare(*family, marks, batches);
    if (!wrong.empty()) return wrong;
  }
  return "";
}

void PassingFamilies::LetGo() {
  for (const std::unique_ptr<Family>& family : families_) family->handle.reset();
}

}  // namespace sepal::reliability
