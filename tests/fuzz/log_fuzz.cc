// Logs of any bytes are recovered or refused. The input is taken once as the file, and once as commands from which a
// log with good checksums is made, so that what lies behind the checksums is reached. What of such a log is in its ring
// alone is recovered as if it were in the file.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "db/act/log/log_recovery.h"
#include "db/format/log_format.h"
#include "sepal/simulation/memory_file_system.h"
#include "util/base/check.h"
#include "util/base/coding.h"

namespace {

using namespace sepal;

void Recover(const std::string& bytes) {
  MemoryFileSystem memory;
  auto directory = memory.OpenDirectory("db", true);
  SEPAL_CHECK(directory.ok() && memory.WriteFileContents("db/000001.log", bytes).ok());
  const auto logs = ListLogs(directory->get());
  SEPAL_CHECK(logs.ok());
  for (const uint64_t minimum : {0, 1}) {
    SequenceNumber last;
    const auto recovery = RecoverLogs(directory->get(), *logs, {.database_id = 1, .minimum = FileNumber(minimum)},
                                      [&](SequenceNumber first, std::string_view) {
                                        SEPAL_CHECK(first > last);
                                        last = first;
                                        return absl::OkStatus();
                                      });
    if (!recovery.ok()) {
      SEPAL_CHECK(absl::IsDataLoss(recovery.status()) || absl::IsFailedPrecondition(recovery.status()));
    } else {
      SEPAL_CHECK(recovery->dropped_bytes <= bytes.size() && recovery->last_sequence >= last);
    }
  }
}

// Commands: a kind, steps of the sequence number and of the watermark, a length and that many bytes of payload.
std::string Build(std::string_view commands, RingReference ring = {}) {
  LogHeader header;
  header.database_id = 1;
  header.number = FileNumber(1);
  header.salt = 5;
  header.ring = ring;
  std::string bytes = header.Encode();
  uint64_t sequence = 0;
  Decoder in(commands);
  while (!in.empty()) {
    const auto kind = static_cast<LogRecordKind>(in.Byte() % 6);
    sequence += in.Byte();
    const LogPosition position = header.PositionAt(bytes.size());
    const LogPosition durable(position.value() * in.Byte() / 128);
    const uint8_t length = in.Byte();
    const std::string_view payload = in.Bytes(std::min<uint64_t>(length, in.remaining()));
    char record[kLogRecordHeaderBytes];
    EncodeLogRecordHeader(record, header.salt, position, SequenceNumber(sequence), kind, durable, payload);
    bytes.append(record, sizeof record);
    bytes.append(payload);
  }
  return bytes;
}

constexpr uint64_t kRingBytes = 4096;

// The newest bytes of the log's records, as its ring holds them.
std::string RingOf(std::string_view log) {
  std::string ring = RingHeader{kRingBytes, FileNumber(1)}.Encode();
  ring.resize(kRingHeaderBytes + kRingBytes);
  const uint64_t end = log.size() - kLogHeaderBytes;
  for (uint64_t position = end - std::min(end, kRingBytes); position < end; ++position) {
    ring[kRingHeaderBytes + position % kRingBytes] = log[kLogHeaderBytes + position];
  }
  return ring;
}

// What was delivered; none: the logs were refused.
std::optional<std::string> Delivered(const std::string& log, const std::string& ring) {
  MemoryFileSystem memory;
  auto directory = memory.OpenDirectory("db", true);
  SEPAL_CHECK(directory.ok() && memory.WriteFileContents("db/000001.log", log).ok());
  SEPAL_CHECK(memory.WriteFileContents("db/000001.ring", ring).ok());
  const auto logs = ListLogs(directory->get());
  SEPAL_CHECK(logs.ok());
  std::string delivered;
  const auto recovery = RecoverLogs(directory->get(), *logs, {.database_id = 1, .minimum = FileNumber(1)},
                                    [&](SequenceNumber first, std::string_view batch) {
                                      PutFixed64(&delivered, first.value());
                                      delivered.append(batch);
                                      return absl::OkStatus();
                                    });
  if (recovery.ok()) return delivered;
  SEPAL_CHECK(absl::IsDataLoss(recovery.status()));
  return std::nullopt;
}

// The file ends, or has zeros, from some place on that the ring covers.
void RecoverFromTwoPlaces(std::string_view commands, uint64_t draw) {
  const std::string log = Build(commands, {FileNumber(1), kRingBytes});
  const std::string ring = RingOf(log);
  const uint64_t in_ring = std::min<uint64_t>(log.size() - kLogHeaderBytes, kRingBytes);
  const uint64_t written = log.size() - draw % (in_ring + 1);
  const std::optional<std::string> whole = Delivered(log, ring);
  SEPAL_CHECK(Delivered(log.substr(0, written), ring) == whole);
  SEPAL_CHECK(Delivered(log.substr(0, written) + std::string(5000, '\0'), ring) == whole);
  std::string damaged = ring;
  damaged[draw % damaged.size()] ^= static_cast<char>(1 + draw % 255);
  (void)Delivered(log.substr(0, written), damaged);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  Recover(std::string(input));
  Recover(Build(input));
  if (size >= 3) {
    RecoverFromTwoPlaces(input.substr(3), data[0] + 256u * data[1] + 65536u * data[2]);
    std::string bytes = Build(input);
    bytes[(data[0] + 256u * data[1]) % bytes.size()] ^= static_cast<char>(data[2]);
    Recover(bytes);
  }
  return 0;
}
