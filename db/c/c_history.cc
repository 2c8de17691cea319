// The C interface of reads as of past moments.
#include "sepal/c_history.h"

#include <chrono>
#include <utility>
#include <vector>

#include "db/c/c_types.h"
#include "sepal/history.h"

struct sepal_history_t {
  std::vector<sepal::KeyVersion> rep;
};

static_assert(static_cast<int>(sepal::KeyVersion::Kind::kPut) == sepal_version_put);
static_assert(static_cast<int>(sepal::KeyVersion::Kind::kDelete) == sepal_version_delete);
static_assert(static_cast<int>(sepal::KeyVersion::Kind::kMerge) == sepal_version_merge);
static_assert(static_cast<int>(sepal::KeyVersion::Kind::kExpired) == sepal_version_expired);

extern "C" {

void sepal_options_set_history(sepal_options_t* options, int64_t milliseconds) {
  options->rep.family.history = std::chrono::milliseconds(milliseconds);
}

void sepal_readoptions_set_as_of_sequence(sepal_readoptions_t* options, uint64_t sequence) {
  sepal_readoptions_set_as_of_now(options);
  options->rep.as_of_sequence = sequence;
}

void sepal_readoptions_set_as_of_time(sepal_readoptions_t* options, uint64_t unix_millis) {
  sepal_readoptions_set_as_of_now(options);
  options->rep.as_of_time = sepal::TimeOfMillis(unix_millis);
}

void sepal_readoptions_set_as_of_now(sepal_readoptions_t* options) {
  options->rep.as_of_sequence.reset();
  options->rep.as_of_time.reset();
}

sepal_history_t* sepal_history_create(sepal_t* db, sepal_column_family_t* family, const char* key, size_t keylen,
                                      char** errptr) {
  return sepal_history_create_part(db, family, key, keylen, SIZE_MAX, UINT64_MAX, errptr);
}

sepal_history_t* sepal_history_create_part(sepal_t* db, sepal_column_family_t* family, const char* key, size_t keylen,
                                           size_t limit, uint64_t below_sequence, char** errptr) {
  absl::StatusOr<std::vector<sepal::KeyVersion>> versions = db->rep->History(
      sepal::FamilyOf(db, family), sepal::BytesOf(key, keylen), {.limit = limit, .below_sequence = below_sequence});
  if (sepal::SaveError(errptr, versions.status())) return nullptr;
  return new sepal_history_t{*std::move(versions)};
}

void sepal_history_destroy(sepal_history_t* history) { delete history; }

size_t sepal_history_count(const sepal_history_t* history) { return history->rep.size(); }

uint64_t sepal_history_sequence(const sepal_history_t* history, size_t index) { return history->rep[index].sequence; }

uint64_t sepal_history_time(const sepal_history_t* history, size_t index) {
  const std::optional<std::chrono::system_clock::time_point>& time = history->rep[index].time;
  return time.has_value() ? sepal::MillisOf(*time) : 0;
}

int sepal_history_kind(const sepal_history_t* history, size_t index) {
  return static_cast<int>(history->rep[index].kind);
}

const char* sepal_history_value(const sepal_history_t* history, size_t index, size_t* vallen) {
  const std::string& value = history->rep[index].value;
  *vallen = value.size();
  return value.c_str();
}

}  // extern "C"
