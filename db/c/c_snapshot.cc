// The C interface of snapshots with names.
#include "sepal/c_snapshot.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "db/c/c_types.h"
#include "sepal/named_snapshots.h"

struct sepal_snapshot_list_t {
  std::vector<sepal::NamedSnapshot> rep;
};

namespace {

using sepal::MillisOf;

const sepal_snapshot_t* TakeSnapshot(absl::StatusOr<std::shared_ptr<const sepal::Snapshot>> snapshot, char** errptr) {
  if (sepal::SaveError(errptr, snapshot.status())) return nullptr;
  return new sepal_snapshot_t{*std::move(snapshot)};
}

sepal_snapshot_list_t* List(absl::StatusOr<std::vector<sepal::NamedSnapshot>> all, char** errptr) {
  if (sepal::SaveError(errptr, all.status())) return nullptr;
  return new sepal_snapshot_list_t{*std::move(all)};
}

}  // namespace

extern "C" {

const sepal_snapshot_t* sepal_create_named_snapshot(sepal_t* db, const char* name, size_t namelen,
                                                    uint64_t expires_after_millis, char** errptr) {
  sepal::NamedSnapshotOptions options;
  if (expires_after_millis > 0) {
    options.expires_after = std::chrono::milliseconds(std::min(expires_after_millis, uint64_t{INT64_MAX}));
  }
  return TakeSnapshot(db->rep->CreateSnapshot(sepal::BytesOf(name, namelen), options), errptr);
}

const sepal_snapshot_t* sepal_find_snapshot(sepal_t* db, const char* name, size_t namelen, char** errptr) {
  return TakeSnapshot(db->rep->FindSnapshot(sepal::BytesOf(name, namelen)), errptr);
}

void sepal_drop_snapshot(sepal_t* db, const char* name, size_t namelen, char** errptr) {
  sepal::SaveError(errptr, db->rep->DropSnapshot(sepal::BytesOf(name, namelen)));
}

sepal_snapshot_list_t* sepal_list_snapshots(sepal_t* db, char** errptr) {
  return List(db->rep->ListSnapshots(), errptr);
}

sepal_snapshot_list_t* sepal_list_snapshots_with_bytes(sepal_t* db, char** errptr) {
  return List(db->rep->ListSnapshots({.bytes_held = true}), errptr);
}

void sepal_snapshot_list_destroy(sepal_snapshot_list_t* list) { delete list; }

size_t sepal_snapshot_list_count(const sepal_snapshot_list_t* list) { return list->rep.size(); }

const char* sepal_snapshot_list_name(const sepal_snapshot_list_t* list, size_t index, size_t* namelen) {
  const std::string& name = list->rep[index].name;
  *namelen = name.size();
  return name.c_str();
}

uint64_t sepal_snapshot_list_sequence(const sepal_snapshot_list_t* list, size_t index) {
  return list->rep[index].sequence;
}

uint64_t sepal_snapshot_list_created(const sepal_snapshot_list_t* list, size_t index) {
  return MillisOf(list->rep[index].created);
}

uint64_t sepal_snapshot_list_expires(const sepal_snapshot_list_t* list, size_t index) {
  const std::optional<std::chrono::system_clock::time_point>& expires = list->rep[index].expires;
  return expires.has_value() ? MillisOf(*expires) : 0;
}

uint64_t sepal_snapshot_list_bytes_held(const sepal_snapshot_list_t* list, size_t index) {
  return list->rep[index].bytes_held.value_or(0);
}

}  // extern "C"
