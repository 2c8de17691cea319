// Options::info_log: a line for each event in a database.
#pragma once

#include <leveldb/env.h>

#include <string_view>

#include "sepal/event_listener.h"

namespace sepal::compat {

// The logger must outlive it, and be safe for concurrent use, as LevelDB asks of it too.
class InfoLog final : public EventListener {
 public:
  explicit InfoLog(leveldb::Logger* logger) : logger_(logger) {}

  void OnFlushEnd(const FlushEvent& event) override;
  void OnCompactionEnd(const CompactionEvent& event) override;
  void OnThrottleChange(const ThrottleEvent& event) override;
  void OnSlowDisk(const SlowDiskEvent& event) override;
  void OnDamage(const DamageEvent& event) override;
  void OnError(std::string_view context, const absl::Status& status) override;

 private:
  leveldb::Logger* const logger_;
};

}  // namespace sepal::compat
