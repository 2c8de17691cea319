#include "db/sync/sync_checks.h"

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "absl/strings/str_format.h"
#include "db/engine/face/engine.h"
#include "sepal/comparator.h"
#include "util/base/status.h"
#include "util/base/strings.h"

namespace sepal {

namespace {

using ComparatorsOfFamilies = std::map<std::string_view, std::string_view>;

ComparatorsOfFamilies ByName(const std::vector<SyncFamily>& families) {
  ComparatorsOfFamilies by_name;
  for (const SyncFamily& family : families) by_name.emplace(family.name, family.comparator);
  return by_name;
}

// Every handle of a family is one of these.
const FamilyHandle& HandleOf(const ColumnFamily& family) { return static_cast<const FamilyHandle&>(family); }

// `side` and `other`: "here" and "on the other side", or the other way round.
absl::Status CheckMissing(const ComparatorsOfFamilies& families, const ComparatorsOfFamilies& others,
                          std::string_view side, std::string_view other) {
  const std::string_view made = BytewiseComparator()->Name();
  for (const auto& [name, comparator] : families) {
    if (others.contains(name) || comparator == made) continue;
    return absl::InvalidArgumentError(absl::StrFormat(
        "the column family \"%s\" has the comparator \"%s\" %s and is missing %s, where it would be made with \"%s\": "
        "make it there with its own comparator first",
        Printable(name), Printable(comparator), side, other, made));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<SyncFamily>> FamiliesToSync(DB* db) {
  std::vector<SyncFamily> families;
  for (const std::string& name : db->ColumnFamilyNames()) {
    ASSIGN_OR_RETURN(const std::shared_ptr<ColumnFamily> family, db->FindColumnFamily(name));
    families.push_back(
        {.name = name, .comparator = std::string(HandleOf(*family).family()->order.comparator()->Name())});
  }
  return families;
}

absl::Status CheckNothingExpires(const DB& db) {
  const Core& core = *HandleOf(db.DefaultColumnFamily()).core();
  if (!core.expiry.in_use() && !core.expiry.any_ttl()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrFormat("%s has had keys that expire, and a sync does not carry their times: copy it with sepal db "
                      "checkpoint or sepal db backup",
                      core.path));
}

absl::Status CheckNamesFit(const std::vector<SyncFamily>& here, const std::vector<SyncFamily>& there) {
  SyncHello hello{.families = here};
  const ComparatorsOfFamilies ours = ByName(here);
  for (const SyncFamily& family : there) {
    if (!ours.contains(family.name)) hello.families.push_back(family);
  }
  const size_t bytes = Encode(hello).size();
  if (bytes <= kMostHelloBytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrFormat("the names of the %u column families of both sides and of their comparators take %u bytes, and a "
                      "sync allows %u: drop families, or copy the database with sepal db checkpoint or sepal db backup",
                      hello.families.size(), bytes, kMostHelloBytes));
}

absl::Status CheckComparators(const std::vector<SyncFamily>& here, const std::vector<SyncFamily>& there) {
  const ComparatorsOfFamilies ours = ByName(here), theirs = ByName(there);
  for (const auto& [name, comparator] : ours) {
    const auto other = theirs.find(name);
    if (other == theirs.end() || other->second == comparator) continue;
    return absl::InvalidArgumentError(absl::StrFormat(
        "the column family \"%s\" has the comparator \"%s\" here and \"%s\" on the other side: it cannot be synced",
        Printable(name), Printable(comparator), Printable(other->second)));
  }
  RETURN_IF_ERROR(CheckMissing(ours, theirs, "here", "on the other side"));
  return CheckMissing(theirs, ours, "on the other side", "here");
}

}  // namespace sepal
