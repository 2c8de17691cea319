// The C interface of syncs.
#include "sepal/c_sync.h"

#include <string>

#include "db/c/c_types.h"
#include "sepal/sync.h"

namespace {

class CChannel final : public sepal::SyncChannel {
 public:
  explicit CChannel(const sepal_sync_channel_t& channel) : channel_(channel) {}
  absl::Status Read(char* to, size_t size) override {
    if (channel_.read(channel_.state, to, size) != 0) return absl::OkStatus();
    return absl::UnavailableError("the other side ended before the two databases were compared");
  }
  absl::Status Write(std::string_view bytes) override {
    if (channel_.write(channel_.state, bytes.data(), bytes.size()) != 0) return absl::OkStatus();
    return absl::UnavailableError("the other side takes no more bytes");
  }

 private:
  const sepal_sync_channel_t channel_;
};

}  // namespace

extern "C" {

void sepal_begin_sync(sepal_t* db, const sepal_sync_channel_t* other, int policy, uint64_t seed,
                      void (*conflict)(void* state, const char* family, const char* key, size_t keylen),
                      void* conflict_state, sepal_sync_report_t* report, size_t report_size, char** errptr) {
  if (policy < sepal_sync_report_conflicts || policy > sepal_sync_newer_by_sequence) {
    sepal::SaveError(errptr, absl::InvalidArgumentError("the policy is none of enum sepal_sync_...: 0 to 3"));
    return;
  }
  CChannel channel(*other);
  const absl::StatusOr<sepal::SyncReport> synced =
      sepal::BeginSync(*db->rep, channel, {.policy = static_cast<sepal::ConflictPolicy>(policy), .seed = seed});
  if (sepal::SaveError(errptr, synced.status())) return;
  for (const sepal::SyncConflict& one : synced->conflicts) {
    if (conflict != nullptr) conflict(conflict_state, one.column_family.c_str(), one.key.data(), one.key.size());
  }
  const sepal_sync_report_t c = {.column_families = synced->column_families,
                                 .entries = synced->entries,
                                 .rounds = synced->rounds,
                                 .written = synced->written,
                                 .overwritten = synced->overwritten,
                                 .sent = synced->sent,
                                 .written_there = synced->written_there,
                                 .overwritten_there = synced->overwritten_there,
                                 .sent_bytes = synced->sent_bytes,
                                 .received_bytes = synced->received_bytes,
                                 .conflicts = synced->conflicts.size()};
  sepal::ToCaller(c, report, report_size);
}

void sepal_serve_sync(sepal_t* db, const sepal_sync_channel_t* other, char** errptr) {
  CChannel channel(*other);
  sepal::SaveError(errptr, sepal::ServeSync(*db->rep, channel));
}

void sepal_refuse_sync(const char* why, const sepal_sync_channel_t* other) {
  CChannel channel(*other);
  sepal::RefuseSync(absl::UnavailableError(why), channel);
}

}  // extern "C"
