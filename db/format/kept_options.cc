#include "db/format/kept_options.h"

#include <bit>

#include "db/format/fields.h"

namespace sepal {
namespace {

enum Tag : uint32_t {
  kCompression = 1,
  kCompressionPerLevel = 3,
  kBlockBytes = 5,
  kFilterPolicy = 7,
  kCompactionStyle = 9,
  kMaxSpaceAmplification = 11,
};

static_assert(static_cast<int>(CompactionStyle::kLeveled) == 1 && static_cast<int>(CompactionStyle::kUniversal) == 2);

template <class Enumeration>
void PutEnum(std::string* out, Enumeration value) {
  out->push_back(static_cast<char>(value));
}
template <class Enumeration>
void TakeEnum(Decoder* in, Enumeration* value) {
  *value = static_cast<Enumeration>(in->Byte());
}
void PutDouble(std::string* out, double value) { PutFixed64(out, std::bit_cast<uint64_t>(value)); }
double TakeDouble(Decoder* in) { return std::bit_cast<double>(in->Fixed64()); }

bool Take(uint32_t tag, Decoder* in, ColumnFamilyOptions* options) {
  switch (tag) {
    case kCompression:
      TakeEnum(in, &options->compression);
      return true;
    case kCompressionPerLevel:
      options->compression_per_level.clear();
      while (in->ok() && !in->empty()) TakeEnum(in, &options->compression_per_level.emplace_back());
      return true;
    case kBlockBytes:
      options->block_bytes = in->Varint();
      return true;
    case kFilterPolicy:
      options->filter_policy.lane_bits_per_key = TakeDouble(in);
      options->filter_policy.guard_bits_per_key = TakeDouble(in);
      return true;
    case kCompactionStyle:
      TakeEnum(in, &options->compaction_style);
      return true;
    case kMaxSpaceAmplification:
      options->max_space_amplification = TakeDouble(in);
      return true;
  }
  return false;
}

}  // namespace

std::string EncodeKeptOptions(const ColumnFamilyOptions& options) {
  const ColumnFamilyOptions absent;
  std::string fields;
  FieldWriter w(&fields);
  if (options.compression != absent.compression) {
    w.Field(kCompression, [&](std::string* f) { PutEnum(f, options.compression); });
  }
  if (!options.compression_per_level.empty()) {
    w.Field(kCompressionPerLevel, [&](std::string* f) {
      for (const CompressionKind kind : options.compression_per_level) PutEnum(f, kind);
    });
  }
  if (options.block_bytes != absent.block_bytes) {
    w.Field(kBlockBytes, [&](std::string* f) { PutVarint(f, options.block_bytes); });
  }
  const FilterPolicy& filter = options.filter_policy;
  if (filter.lane_bits_per_key != absent.filter_policy.lane_bits_per_key ||
      filter.guard_bits_per_key != absent.filter_policy.guard_bits_per_key) {
    w.Field(kFilterPolicy, [&](std::string* f) {
      PutDouble(f, filter.lane_bits_per_key);
      PutDouble(f, filter.guard_bits_per_key);
    });
  }
  if (options.compaction_style != absent.compaction_style) {
    w.Field(kCompactionStyle, [&](std::string* f) { PutEnum(f, options.compaction_style); });
  }
  if (options.max_space_amplification != absent.max_space_amplification) {
    w.Field(kMaxSpaceAmplification, [&](std::string* f) { PutDouble(f, options.max_space_amplification); });
  }
  return fields;
}

absl::StatusOr<ColumnFamilyOptions> DecodeKeptOptions(std::string_view fields) {
  ColumnFamilyOptions options;
  RETURN_IF_ERROR(TakeFields("kept options", fields, [&](uint32_t tag, Decoder* in) -> absl::StatusOr<bool> {
    return Take(tag, in, &options);
  }));
  return options;
}

}  // namespace sepal
