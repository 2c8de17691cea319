// Checkpoints: the moment is chosen here, and checkpoint.cc does the work.
#include <algorithm>

#include "db/engine/face/checkpoint.h"
#include "db/engine/face/engine.h"
#include "util/base/status.h"

namespace sepal {

absl::Status Engine::Checkpoint(std::string_view directory, const CheckpointOptions& options) {
  RETURN_IF_ERROR(CheckOpen());
  CheckpointSource source;
  source.core = core_.get();
  source.database_id = catalog_->identity().database_id;
  source.hash_seed = catalog_->identity().hash_seed;
  source.new_file_number = [this] { return catalog_->NewFileNumber(); };
  source.output_context = [this](const Family& family) { return catalog_->OutputContext(family); };
  const auto look = [&](SequenceNumber last) {
    source.last = last;
    StateLock lock(state_.get());
    for (const auto& [name, hold] : state_->named_snapshots) source.snapshots.push_back(hold.kept);
    for (const FamilyRef& family : state_->Families()) {
      CheckpointFamily& part = source.families.emplace_back();
      part.family = family;
      part.version = family->version();
      part.schema = family->Schema();
      for (const ImmutableMemTable& immutable : family->immutables()) part.memtables.push_back(immutable.memtable);
      // Read-only, the active memtable has what the logs hold. Otherwise it was just switched.
      if (!family->active()->empty()) part.memtables.push_back(family->active());
    }
  };
  const auto write = [&] {
    const absl::Status status = WriteCheckpoint(source, directory, options);
    // Releasing these may release tables that compactions have replaced meanwhile.
    source.families.clear();
    if (core_->deleter->HasWork()) core_->AskToRemoveUnusedFiles();
    core_->info_log.Write("checkpoint to %s at sequence %u: %s", directory, source.last.value(), status.ToString());
    return status;
  };
  if (read_only_) {
    return live_reader_->BetweenCalls([&] {
      source.features = catalog_->features();
      look(state_->VisibleSequence());
      // After a failed call, memtables may have more than readers see.
      for (const CheckpointFamily& part : source.families) {
        for (const auto& memtable : part.memtables) source.last = std::max(source.last, memtable->LastSequence());
      }
      return write();
    });
  }
  pipeline_->AwaitNextLog();
  RETURN_IF_ERROR(pipeline_->SwitchAll(look));
  // The value files that these memtables refer to get no more values, and what they have is durable.
  core_->values.fresh().EndFile();
  core_->values.moved().EndFile();
  RETURN_IF_ERROR(core_->values.fresh().Sync());
  source.features = catalog_->features();
  return write();
}

}  // namespace sepal
