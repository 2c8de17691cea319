#include "db/act/files/value_steps.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_format.h"
#include "util/base/coding.h"
#include "util/base/hash.h"
#include "util/base/status.h"
#include "util/base/strings.h"
#include "util/memory/block_buffer.h"

namespace sepal {

namespace {

// Fills `to` completely from the file.
absl::Status ReadAll(const ReadableFile& file, std::string_view path, std::string_view what, uint64_t offset,
                     std::span<char> to) {
  ASSIGN_OR_RETURN(const size_t read, file.Read(offset, to.size(), to.data()));
  if (read == to.size()) [[likely]]
    return absl::OkStatus();
  return Damaged(path, offset, what, absl::StrFormat("%u bytes", to.size()), absl::StrFormat("%u", read));
}

// Checks consecutive chunks, of which the first is at `at` of the value.
absl::Status CheckChunks(std::string_view path, const ValueReference& reference, std::string_view sums, uint64_t at,
                         std::string_view chunks) {
  for (uint64_t in = 0; in < chunks.size(); in += kValueChunkBytes) {
    const uint64_t offset = reference.offset + at + in;
    const uint32_t stored = DecodeFixed32(sums.data() + (at + in) / kValueChunkBytes * kChunkSumBytes);
    const uint32_t computed = Checksum32(chunks.substr(in, kValueChunkBytes), ReferenceSeed(reference.file, offset));
    if (stored != computed) {
      return Damaged(path, offset, "checksum of a chunk of a separated value", Hex64(stored), Hex64(computed));
    }
  }
  return absl::OkStatus();
}

absl::Status ReadSteps(const ReadableFile& file, std::string_view path, const ValueReference& reference,
                       const ValueStep& take) {
  BlockBuffer buffer(std::min(reference.stored_bytes, kValueStepBytes));
  for (uint64_t at = 0; at < reference.stored_bytes; at += buffer.size()) {
    const std::span<char> to(buffer.data(), std::min<uint64_t>(buffer.size(), reference.stored_bytes - at));
    RETURN_IF_ERROR(ReadAll(file, path, "separated value", reference.offset + at, to));
    RETURN_IF_ERROR(take(at, {to.data(), to.size()}));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> ReadChunkSums(const ReadableFile& file, std::string_view path,
                                          const ValueReference& reference) {
  std::string sums(reference.sums_bytes(), '\0');
  RETURN_IF_ERROR(ReadAll(file, path, "chunk sums of a separated value", reference.sums_offset(), sums));
  if (AreSumsOf(reference, sums)) return sums;
  return Damaged(path, reference.sums_offset(), "checksum of the chunk sums of a separated value",
                 Hex64(reference.checksum),
                 Hex64(ReferenceToChunked(reference.file, reference.offset, reference.stored_bytes, sums).checksum));
}

absl::Status ReadInSteps(const ReadableFile& file, std::string_view path, const ValueReference& reference,
                         const ValueStep& take) {
  if (!reference.chunked) return ReadWithoutSums(file, path, reference, take);
  ASSIGN_OR_RETURN(const std::string sums, ReadChunkSums(file, path, reference));
  return ReadSteps(file, path, reference, [&](uint64_t at, std::string_view step) -> absl::Status {
    RETURN_IF_ERROR(CheckChunks(path, reference, sums, at, step));
    return take != nullptr ? take(at, step) : absl::OkStatus();
  });
}

absl::Status ReadWithoutSums(const ReadableFile& file, std::string_view path, const ValueReference& reference,
                             const ValueStep& take) {
  std::string sums;
  RunningChecksum32 sum(ReferenceSeed(reference.file, reference.offset));
  RETURN_IF_ERROR(ReadSteps(file, path, reference, [&](uint64_t at, std::string_view step) -> absl::Status {
    if (reference.chunked) {
      AppendChunkSums(reference.file, reference.offset + at, step, &sums);
    } else {
      sum.Add(step);
    }
    return take != nullptr ? take(at, step) : absl::OkStatus();
  }));
  if (reference.chunked) sum.Add(sums);
  if (sum.value() == reference.checksum) return absl::OkStatus();
  return Damaged(path, reference.offset, "checksum of a separated value", Hex64(reference.checksum),
                 Hex64(sum.value()));
}

absl::Status ReadPart(const ReadableFile& file, std::string_view path, const ValueReference& reference,
                      std::string_view sums, uint64_t at, std::span<char> to) {
  BlockBuffer edge;
  while (!to.empty()) {
    const uint64_t begin = at / kValueChunkBytes * kValueChunkBytes;
    const uint64_t wanted_end = at + to.size();
    // Whole chunks are read straight into `to`; of a partial one, the wanted part is copied.
    const uint64_t whole_end =
        wanted_end == reference.stored_bytes ? wanted_end : wanted_end / kValueChunkBytes * kValueChunkBytes;
    if (at == begin && whole_end > begin) {
      const std::span<char> chunks = to.first(whole_end - begin);
      RETURN_IF_ERROR(ReadAll(file, path, "separated value", reference.offset + begin, chunks));
      RETURN_IF_ERROR(CheckChunks(path, reference, sums, begin, {chunks.data(), chunks.size()}));
      at = whole_end;
      to = to.subspan(chunks.size());
      continue;
    }
    if (edge.size() == 0) edge = BlockBuffer(kValueChunkBytes);
    const std::span<char> chunk(edge.data(), std::min(kValueChunkBytes, reference.stored_bytes - begin));
    RETURN_IF_ERROR(ReadAll(file, path, "separated value", reference.offset + begin, chunk));
    RETURN_IF_ERROR(CheckChunks(path, reference, sums, begin, {chunk.data(), chunk.size()}));
    const uint64_t copied = std::min<uint64_t>(to.size(), begin + chunk.size() - at);
    std::memcpy(to.data(), chunk.data() + (at - begin), copied);
    at += copied;
    to = to.subspan(copied);
  }
  return absl::OkStatus();
}

}  // namespace sepal
