// Reading beside a writer: what a call sees, and how it becomes newer.
#include "absl/strings/str_format.h"
#include "db/engine/face/engine.h"
#include "db/engine/open/follower.h"
#include "util/base/status.h"

namespace sepal {

absl::Status Engine::CatchUp() {
  RETURN_IF_ERROR(CheckOpen());
  if (live_reader_ == nullptr) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "the database in %s was not opened read-only, so that it is never behind: CatchUp is for readers beside it",
        core_->path));
  }
  const WatchedCall call(&core_->calls, {.name = "catch up"}, [] { return CallWatch::Subject(); });
  return live_reader_->CatchUp();
}

// The view and its number belong together: the view may lack entries that an older number would need.
Engine::ReadPoint Engine::PointBesideWriter(const Family& family, const ReadOptions& options) const {
  if (options.snapshot != nullptr) {
    const JointView* const views = SnapshotList::ViewsOf(options.snapshot);
    return {views->Of(family.id), SequenceNumber(options.snapshot->sequence())};
  }
  const JointView* const views = state_->joint_view();
  return {views->Of(family.id), views->visible};
}

absl::Status Engine::NoView(const Family& family) const {
  RETURN_IF_ERROR(family.CheckThere());
  return absl::FailedPreconditionError(absl::StrFormat(
      "column family \"%s\" was created after the snapshot was taken: read it without that snapshot", family.name));
}

void Engine::BeginReading(SequenceNumber last_sequence, Executor* executor) {
  decltype(state_->named_snapshots) old_names;  // released after the lock, because releases take locks
  {
    StateLock lock(state_.get());
    old_names.swap(state_->named_snapshots);
    std::vector<KeptSnapshot> named;
    for (const auto& [name, hold] : old_names) named.push_back(hold.kept);
    state_->PublishJointView(last_sequence, named);
  }
  live_reader_ = std::make_unique<LiveReader>(core_.get(), state_.get(), catalog_.get());
  follower_ = MakeFollower(state_.get(), live_reader_.get(), executor);
  follower_->Start();
}

}  // namespace sepal
