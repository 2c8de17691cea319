#include "compat/leveldb/info_log.h"

#include <string>

#include "absl/strings/str_format.h"
#include "util/base/strings.h"

namespace sepal::compat {

namespace {

template <class... Arguments>
void Line(leveldb::Logger* logger, const absl::FormatSpec<Arguments...>& format, const Arguments&... arguments) {
  leveldb::Log(logger, "%s", absl::StrFormat(format, arguments...).c_str());
}

}  // namespace

void InfoLog::OnFlushEnd(const FlushEvent& event) {
  Line(logger_, "flush: table %u, %u entries, %u bytes, %u us: %s", event.file_number, event.entries,
       event.bytes_written, event.micros, event.status.ToString());
}

void InfoLog::OnCompactionEnd(const CompactionEvent& event) {
  Line(logger_, "compaction: level %d to %d, %d tables to %d, %u bytes to %u, %u us, %s: %s", event.input_level,
       event.output_level, event.input_files, event.output_files, event.bytes_read, event.bytes_written, event.micros,
       event.reason, event.status.ToString());
}

void InfoLog::OnThrottleChange(const ThrottleEvent& event) {
  if (event.bytes_per_second == UINT64_MAX) return Line(logger_, "%s", "writers are no longer slowed");
  Line(logger_, "writers are limited to %u bytes/s: %s", event.bytes_per_second, event.reason);
}

void InfoLog::OnSlowDisk(const SlowDiskEvent& event) {
  Line(logger_, "slow disk: %s of %s took %u us", ToAbsl(event.operation), event.path, event.micros);
}

void InfoLog::OnDamage(const DamageEvent& event) {
  Line(logger_, "damage in table %u at %u: %s", event.file_number, event.offset, event.status.ToString());
}

void InfoLog::OnError(std::string_view context, const absl::Status& status) {
  Line(logger_, "error: %s: %s", ToAbsl(context), status.ToString());
}

}  // namespace sepal::compat
