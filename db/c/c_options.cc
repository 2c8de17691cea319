// The C interface: options, comparators, filter policies, listeners.
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "db/c/c_types.h"
#include "sepal/event_listener.h"
#include "sepal/options_text.h"

namespace {

using sepal::BytesOf;
using sepal::TimeOfMillis;

// Converts C's number to an enumerator; a number that does not fit becomes an invalid one, so that opening refuses it.
template <class Enum>
Enum EnumOf(int value) {
  constexpr uint8_t kNoEnumerator = UINT8_MAX;
  static_assert(std::is_same_v<std::underlying_type_t<Enum>, uint8_t>);
  return static_cast<Enum>(value >= 0 && value < kNoEnumerator ? static_cast<uint8_t>(value) : kNoEnumerator);
}

class Listener final : public sepal::EventListener {
 public:
  explicit Listener(const sepal_listener_t& c) : c_(c) {}

  void OnFlushBegin(const sepal::FlushEvent& event) override { Tell(c_.flush_begin, event); }
  void OnFlushEnd(const sepal::FlushEvent& event) override { Tell(c_.flush_end, event); }
  void OnCompactionBegin(const sepal::CompactionEvent& event) override { Tell(c_.compaction_begin, event); }
  void OnCompactionEnd(const sepal::CompactionEvent& event) override { Tell(c_.compaction_end, event); }
  void OnThrottleChange(const sepal::ThrottleEvent& event) override {
    if (c_.throttle_change != nullptr) c_.throttle_change(c_.state, event.reason.c_str(), event.bytes_per_second);
  }
  void OnSlowDisk(const sepal::SlowDiskEvent& event) override {
    if (c_.slow_disk == nullptr) return;
    c_.slow_disk(c_.state, event.path.c_str(), std::string(event.operation).c_str(), event.micros);
  }
  void OnError(std::string_view context, const absl::Status& status) override {
    if (c_.error != nullptr) c_.error(c_.state, std::string(context).c_str(), status.ToString().c_str());
  }
  void OnDamage(const sepal::DamageEvent& event) override {
    if (c_.damage == nullptr) return;
    const std::string error = event.status.ToString();
    const sepal_damage_event_t c = {.column_family = event.column_family.c_str(),
                                    .file_number = event.file_number,
                                    .offset = event.offset,
                                    .bytes = event.bytes,
                                    .after = event.after.has_value() ? event.after->data() : nullptr,
                                    .afterlen = event.after.has_value() ? event.after->size() : 0,
                                    .through = event.through.has_value() ? event.through->data() : nullptr,
                                    .throughlen = event.through.has_value() ? event.through->size() : 0,
                                    .error = error.c_str()};
    c_.damage(c_.state, &c);
  }
  void OnClockDoubt(const sepal::ClockDoubtEvent& event) override {
    if (c_.clock_doubt == nullptr) return;
    c_.clock_doubt(c_.state, event.in_doubt ? 1 : 0, sepal::MillisOf(event.wall_time),
                   sepal::MillisOf(event.removal_time), event.message.c_str());
  }
  void OnSlowCall(const sepal::SlowCallEvent& event) override {
    if (c_.slow_call == nullptr) return;
    const auto part = [&event](sepal::PerfPart which) { return event.part_micros[static_cast<size_t>(which)]; };
    const std::string call(event.call), reason(event.reason);
    const sepal_slow_call_event_t c = {.call = call.c_str(),
                                       .column_family = event.column_family.c_str(),
                                       .key = event.key.data(),
                                       .keylen = event.key.size(),
                                       .micros = event.micros,
                                       .throttle_micros = part(sepal::PerfPart::kThrottle),
                                       .lock_micros = part(sepal::PerfPart::kLock),
                                       .read_micros = part(sepal::PerfPart::kRead),
                                       .log_micros = part(sepal::PerfPart::kLog),
                                       .sync_micros = part(sepal::PerfPart::kSync),
                                       .block_reads = event.block_reads,
                                       .block_read_bytes = event.block_read_bytes,
                                       .reason = reason.c_str()};
    c_.slow_call(c_.state, &c);
  }

 private:
  void Tell(void (*call)(void*, const sepal_flush_event_t*), const sepal::FlushEvent& event) const {
    if (call == nullptr) return;
    const std::string error = event.status.ToString();
    const sepal_flush_event_t c = {.column_family = event.column_family.c_str(),
                                   .file_number = event.file_number,
                                   .entries = event.entries,
                                   .bytes_written = event.bytes_written,
                                   .micros = event.micros,
                                   .error = event.status.ok() ? nullptr : error.c_str()};
    call(c_.state, &c);
  }
  void Tell(void (*call)(void*, const sepal_compaction_event_t*), const sepal::CompactionEvent& event) const {
    if (call == nullptr) return;
    const std::string error = event.status.ToString();
    const sepal_compaction_event_t c = {.column_family = event.column_family.c_str(),
                                        .reason = event.reason.c_str(),
                                        .input_level = event.input_level,
                                        .output_level = event.output_level,
                                        .input_files = event.input_files,
                                        .output_files = event.output_files,
                                        .bytes_read = event.bytes_read,
                                        .bytes_written = event.bytes_written,
                                        .value_bytes_moved = event.value_bytes_moved,
                                        .entries_in = event.entries_in,
                                        .entries_out = event.entries_out,
                                        .micros = event.micros,
                                        .trivial_move = event.trivial_move,
                                        .error = event.status.ok() ? nullptr : error.c_str()};
    call(c_.state, &c);
  }

  const sepal_listener_t c_;
};

}  // namespace

extern "C" {

void sepal_options_add_listener(sepal_options_t* options, const sepal_listener_t* listener, size_t size) {
  options->rep.listeners.push_back(std::make_shared<Listener>(sepal::FromCaller(listener, size)));
}

sepal_options_t* sepal_options_create(void) { return new sepal_options_t; }
void sepal_options_destroy(sepal_options_t* options) { delete options; }
void sepal_options_from_text(sepal_options_t* options, const char* text, char** errptr) {
  absl::StatusOr<sepal::Options> said = sepal::OptionsFromText(text, options->rep);
  if (!sepal::SaveError(errptr, said.status())) options->rep = *std::move(said);
}
char* sepal_options_to_text(const sepal_options_t* options) {
  return sepal::NewCopy(sepal::OptionsToText(options->rep));
}
void sepal_options_set_create_if_missing(sepal_options_t* options, unsigned char value) {
  options->rep.create_if_missing = value != 0;
}
void sepal_options_set_error_if_exists(sepal_options_t* options, unsigned char value) {
  options->rep.error_if_exists = value != 0;
}
void sepal_options_set_read_only(sepal_options_t* options, unsigned char value) { options->rep.read_only = value != 0; }
void sepal_options_set_take_over(sepal_options_t* options, unsigned char value) { options->rep.take_over = value != 0; }
void sepal_options_set_memory_limit(sepal_options_t* options, size_t bytes) { options->rep.memory_limit = bytes; }
void sepal_options_set_write_buffer_size(sepal_options_t* options, size_t bytes) {
  options->rep.memtable_bytes = bytes;
}
void sepal_options_set_large_batches(sepal_options_t* options, unsigned char value) {
  options->rep.large_batches = value != 0;
}
void sepal_options_set_direct_reads(sepal_options_t* options, unsigned char value) {
  options->rep.direct_reads = value != 0;
}
void sepal_options_set_background_threads(sepal_options_t* options, int threads) {
  options->rep.background_threads = threads;
}
void sepal_options_set_background_bytes_per_second(sepal_options_t* options, uint64_t bytes) {
  options->rep.background_bytes_per_second = bytes;
}
void sepal_options_set_follow_milliseconds(sepal_options_t* options, uint64_t milliseconds) {
  options->rep.follow_milliseconds = milliseconds;
}
void sepal_options_set_scrub_seconds(sepal_options_t* options, uint64_t seconds) {
  options->rep.scrub_seconds = seconds;
}
void sepal_options_set_log_directory(sepal_options_t* options, const char* directory) {
  options->rep.log_directory = directory;
}
void sepal_options_set_info_log(sepal_options_t* options, unsigned char value) { options->rep.info_log = value != 0; }
void sepal_options_set_latency_histograms(sepal_options_t* options, unsigned char value) {
  options->rep.latency_histograms = value != 0;
}
void sepal_options_set_slow_call_micros(sepal_options_t* options, uint64_t micros) {
  options->rep.slow_call_micros = micros;
}
void sepal_options_add_column_family(sepal_options_t* options, const char* name,
                                     const sepal_options_t* family_options) {
  options->rep.column_families.push_back({.name = name, .options = family_options->rep.family});
}
void sepal_options_set_comparator(sepal_options_t* options, sepal_comparator_t* comparator) {
  options->rep.family.comparator = comparator;
}
void sepal_options_set_compression(sepal_options_t* options, int compression) {
  options->rep.family.compression = EnumOf<sepal::CompressionKind>(compression);
}
void sepal_options_set_compression_per_level(sepal_options_t* options, const int* compressions, size_t levels) {
  options->rep.family.compression_per_level.clear();
  for (size_t i = 0; i < levels; ++i) {
    options->rep.family.compression_per_level.push_back(EnumOf<sepal::CompressionKind>(compressions[i]));
  }
}
void sepal_options_set_block_size(sepal_options_t* options, size_t bytes) { options->rep.family.block_bytes = bytes; }
void sepal_options_set_filter_policy(sepal_options_t* options, const sepal_filterpolicy_t* policy) {
  options->rep.family.filter_policy = policy->rep;
}
void sepal_options_set_compaction_style(sepal_options_t* options, int style) {
  options->rep.family.compaction_style = EnumOf<sepal::CompactionStyle>(style);
}
void sepal_options_set_max_space_amplification(sepal_options_t* options, double most) {
  options->rep.family.max_space_amplification = most;
}
void sepal_options_set_separate_from(sepal_options_t* options, size_t bytes) {
  options->rep.family.separate_from = bytes;
}
void sepal_options_set_last_level_inline_below(sepal_options_t* options, size_t bytes) {
  options->rep.family.last_level_inline_below = bytes;
}

void sepal_options_set_ttl(sepal_options_t* options, int64_t milliseconds) {
  options->rep.family.ttl = std::chrono::milliseconds(milliseconds);
}
void sepal_options_set_merge_operator(sepal_options_t* options, const sepal_mergeoperator_t* merge) {
  options->rep.family.merge_operator = merge->rep;
}

sepal_comparator_t* sepal_comparator_create(void* state, void (*destructor)(void*),
                                            int (*compare)(void*, const char* a, size_t alen, const char* b,
                                                           size_t blen),
                                            const char* (*name)(void*)) {
  auto* comparator = new sepal_comparator_t;
  comparator->state = state;
  comparator->destructor = destructor;
  comparator->compare = compare;
  comparator->name = name;
  return comparator;
}
void sepal_comparator_set_equal_means_identical(sepal_comparator_t* comparator, unsigned char value) {
  comparator->equal_means_identical = value != 0;
}
void sepal_comparator_destroy(sepal_comparator_t* comparator) { delete comparator; }

sepal_filterpolicy_t* sepal_filterpolicy_create_bloom(double bits_per_key) {
  return new sepal_filterpolicy_t{sepal::FilterPolicy::FromBitsPerKey(bits_per_key)};
}
sepal_filterpolicy_t* sepal_filterpolicy_create_split(double lane_bits_per_key, double guard_bits_per_key) {
  return new sepal_filterpolicy_t{{.lane_bits_per_key = lane_bits_per_key, .guard_bits_per_key = guard_bits_per_key}};
}
sepal_filterpolicy_t* sepal_filterpolicy_create_rate(double false_positive_rate) {
  return new sepal_filterpolicy_t{sepal::FilterPolicy::FromFalsePositiveRate(false_positive_rate)};
}
sepal_filterpolicy_t* sepal_filterpolicy_create_none(void) {
  return new sepal_filterpolicy_t{sepal::FilterPolicy::None()};
}
double sepal_filterpolicy_expected_rate(const sepal_filterpolicy_t* policy) { return policy->rep.ExpectedRate(); }
double sepal_filterpolicy_lane_bits_per_key(const sepal_filterpolicy_t* policy) {
  return policy->rep.lane_bits_per_key;
}
double sepal_filterpolicy_guard_bits_per_key(const sepal_filterpolicy_t* policy) {
  return policy->rep.guard_bits_per_key;
}
int sepal_filterpolicy_probes_for(double bits_per_key) { return sepal::FilterPolicy::ProbesFor(bits_per_key); }
double sepal_filterpolicy_expected_rate_for(double bits_per_key) {
  return sepal::FilterPolicy::ExpectedRate(bits_per_key);
}
void sepal_filterpolicy_destroy(sepal_filterpolicy_t* policy) { delete policy; }

sepal_readoptions_t* sepal_readoptions_create(void) { return new sepal_readoptions_t; }
void sepal_readoptions_destroy(sepal_readoptions_t* options) { delete options; }
void sepal_readoptions_set_keys_only(sepal_readoptions_t* options, unsigned char value) {
  options->rep.keys_only = value != 0;
}
void sepal_readoptions_set_fill_cache(sepal_readoptions_t* options, unsigned char value) {
  options->rep.fill_cache = value != 0;
}
void sepal_readoptions_set_snapshot(sepal_readoptions_t* options, const sepal_snapshot_t* snapshot) {
  options->rep.snapshot = snapshot == nullptr ? nullptr : snapshot->rep.get();
}
void sepal_readoptions_set_lower_bound(sepal_readoptions_t* options, const char* key, size_t keylen) {
  options->rep.lower_bound.reset();
  if (key != nullptr) options->rep.lower_bound = BytesOf(key, keylen);
}
void sepal_readoptions_set_upper_bound(sepal_readoptions_t* options, const char* key, size_t keylen) {
  options->rep.upper_bound.reset();
  if (key != nullptr) options->rep.upper_bound = BytesOf(key, keylen);
}
void sepal_readoptions_set_prefix(sepal_readoptions_t* options, const char* prefix, size_t prefixlen) {
  const std::optional<std::string> end = sepal::EndOfPrefix(BytesOf(prefix, prefixlen));
  sepal_readoptions_set_lower_bound(options, prefix, prefixlen);
  sepal_readoptions_set_upper_bound(options, end.has_value() ? end->data() : nullptr,
                                    end.has_value() ? end->size() : 0);
}

sepal_writeoptions_t* sepal_writeoptions_create(void) { return new sepal_writeoptions_t; }
void sepal_writeoptions_destroy(sepal_writeoptions_t* options) { delete options; }
void sepal_writeoptions_set_sync(sepal_writeoptions_t* options, unsigned char value) { options->rep.sync = value != 0; }
void sepal_writeoptions_set_disable_wal(sepal_writeoptions_t* options, unsigned char value) {
  options->rep.disable_wal = value != 0;
}
void sepal_writeoptions_set_no_slowdown(sepal_writeoptions_t* options, unsigned char value) {
  options->rep.no_slowdown = value != 0;
}
void sepal_writeoptions_set_ttl(sepal_writeoptions_t* options, int64_t milliseconds) {
  options->rep.ttl = std::chrono::milliseconds(milliseconds);
}
void sepal_writeoptions_set_expires_at(sepal_writeoptions_t* options, uint64_t milliseconds) {
  options->rep.expires_at = TimeOfMillis(milliseconds);
}

}  // extern "C"
