// Any bytes, as each message of a sync, are refused or read, and what is read is the same when it is written again.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "db/sync/difference_table.h"
#include "db/sync/sync_messages.h"
#include "db/sync/sync_side.h"
#include "db/sync/sync_stream.h"
#include "util/base/check.h"

namespace {

using namespace sepal;

class FromBytes final : public SyncChannel {
 public:
  explicit FromBytes(std::string_view bytes) : bytes_(bytes) {}
  absl::Status Read(char* to, size_t size) override {
    if (size > bytes_.size()) return absl::UnavailableError("end");
    bytes_.copy(to, size);
    bytes_.remove_prefix(size);
    return absl::OkStatus();
  }
  absl::Status Write(std::string_view) override { return absl::OkStatus(); }

 private:
  std::string_view bytes_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  FromBytes stream(bytes);
  SyncStream messages(&stream);
  std::string payload;
  while (messages.Receive(&payload).ok()) {
  }
  if (const auto hello = ParseHello(bytes); hello.ok()) SEPAL_CHECK(ParseHello(Encode(*hello)).ok());
  if (const auto ranges = ParseRanges(std::string(bytes)); ranges.ok()) {
    SEPAL_CHECK(ParseRanges(Encode(*ranges)).value().ranges == ranges->ranges);
  }
  if (const auto differing = ParseDiffering(bytes, 20); differing.ok()) {
    SEPAL_CHECK(ParseDiffering(Encode(*differing), 20).value().ranges == differing->ranges);
  }
  if (const auto items = ParseItems(bytes); items.ok()) {
    std::string again;
    for (const SyncItem& item : *items) Append(item, &again);
    SEPAL_CHECK(again.size() > kMostListBytes || ParseItems(again).value().size() == items->size());
  }
  if (const auto keys = ParseKeys(bytes); keys.ok()) {
    std::string again;
    for (const std::string& key : *keys) AppendKey(key, &again);
    SEPAL_CHECK(again.size() > kMostListBytes || ParseKeys(again).value() == *keys);
  }
  if (const auto filter = SyncFilter::Parse(bytes); filter.ok() && filter->form() != SyncForm::kTable) {
    filter->MayContain(size);
  }
  if (auto table = DifferenceTable::Parse(bytes); table.ok()) {
    std::string again;
    table->AppendTo(&again);
    SEPAL_CHECK(again == bytes);
    const DifferenceTable::Difference found = table->Find();
    SEPAL_CHECK(found.put.size() + found.taken.size() <= size);
  }
  return 0;
}
