// How much room there is, asked of the monitors in a thread of its own.
#include <algorithm>
#include <string>

#include "nlohmann/json.hpp"
#include "rados/client.h"

namespace sepal::rados {
namespace {

constexpr uint64_t kPeriodMicros = 2'000'000;

// What `ceph df detail` says of the pool: room for data, copies apart, within the quota. UINT64_MAX: it does not say.
uint64_t FreeBytesIn(const std::string& text, const std::string& pool) {
  const nlohmann::json answer = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!answer.is_object() || !answer.contains("pools") || !answer["pools"].is_array()) return UINT64_MAX;
  for (const nlohmann::json& each : answer["pools"]) {
    if (!each.is_object() || each.value("name", "") != pool || !each.contains("stats")) continue;
    const nlohmann::json& stats = each["stats"];
    const uint64_t available = stats.value("max_avail", UINT64_MAX);
    const uint64_t quota = stats.value("quota_bytes", uint64_t{0});
    const uint64_t stored = stats.value("stored", uint64_t{0});
    if (quota == 0) return available;
    return std::min(available, quota > stored ? quota - stored : 0);
  }
  return UINT64_MAX;
}

}  // namespace

void Client::AskStatistics() {
  static constexpr char kCommand[] = R"({"prefix":"df","detail":"detail","format":"json"})";
  const char* commands[] = {kCommand};
  char *answer = nullptr, *message = nullptr;
  size_t answer_size = 0, message_size = 0;
  ++counts.monitor_calls;
  const uint64_t before = written_since_.load();
  const int code = rados_mon_command(cluster_, commands, 1, "", 0, &answer, &answer_size, &message, &message_size);
  if (code >= 0) {
    const std::string text(answer, answer_size);
    uint64_t free = FreeBytesIn(text, options_.pool);
    if (data_pool_ != kOwnPool) free = std::min(free, FreeBytesIn(text, options_.data_pool));
    free_bytes_.store(free);
    // The answer may be older than writes of this period, so these stay counted for one more.
    written_since_.fetch_sub(std::min(before, written_before_));
    written_before_ = before - std::min(before, written_before_);
  }
  rados_buffer_free(answer);
  rados_buffer_free(message);
}

void Client::RunStatistics() {
  while (true) {
    AskStatistics();
    MutexLock lock(&mutex_);
    if (!ending_) changed_.WaitFor(&mutex_, kPeriodMicros);
    if (ending_) return;
  }
}

std::optional<uint64_t> Client::FreeBytes() const {
  const uint64_t free = free_bytes_.load();
  if (free == UINT64_MAX) return std::nullopt;
  const uint64_t written = written_since_.load();
  return free > written ? free - written : 0;
}

}  // namespace sepal::rados
