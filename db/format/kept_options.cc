#include "db/format/kept_options.h"

#include <bit>
#include <type_traits>

#include "db/format/fields.h"

namespace sepal {
namespace {

static_assert(static_cast<int>(CompactionStyle::kLeveled) == 1 && static_cast<int>(CompactionStyle::kUniversal) == 2);

// Calls visit(tag, pointer to member) for each.
template <class Visit>
void ForEachOption(Visit visit) {
  visit(1, &ColumnFamilyOptions::compression);
  visit(3, &ColumnFamilyOptions::compression_per_level);
  visit(5, &ColumnFamilyOptions::block_bytes);
  visit(7, &ColumnFamilyOptions::filter_policy);
  visit(9, &ColumnFamilyOptions::compaction_style);
  visit(11, &ColumnFamilyOptions::max_space_amplification);
  visit(13, &ColumnFamilyOptions::separate_from);
  visit(15, &ColumnFamilyOptions::last_level_inline_below);
}

template <class T>
void Put(std::string* out, const T& value) {
  if constexpr (std::is_enum_v<T>) {
    out->push_back(static_cast<char>(value));
  } else if constexpr (std::is_same_v<T, double>) {
    PutFixed64(out, std::bit_cast<uint64_t>(value));
  } else if constexpr (std::is_same_v<T, FilterPolicy>) {
    Put(out, value.lane_bits_per_key);
    Put(out, value.guard_bits_per_key);
  } else if constexpr (std::is_same_v<T, size_t>) {
    PutVarint(out, value);
  } else {
    for (const auto& element : value) Put(out, element);
  }
}

template <class T>
void Take(Decoder* in, T* value) {
  if constexpr (std::is_enum_v<T>) {
    *value = static_cast<T>(in->Byte());
  } else if constexpr (std::is_same_v<T, double>) {
    *value = std::bit_cast<double>(in->Fixed64());
  } else if constexpr (std::is_same_v<T, FilterPolicy>) {
    Take(in, &value->lane_bits_per_key);
    Take(in, &value->guard_bits_per_key);
  } else if constexpr (std::is_same_v<T, size_t>) {
    *value = in->Varint();
  } else {
    value->clear();
    while (!in->empty()) Take(in, &value->emplace_back());
  }
}

}  // namespace

std::string EncodeKeptOptions(const ColumnFamilyOptions& options) {
  const ColumnFamilyOptions absent;
  std::string fields;
  FieldWriter writer(&fields);
  ForEachOption([&](uint32_t tag, auto option) {
    std::string content, of_absent;
    Put(&content, options.*option);
    Put(&of_absent, absent.*option);
    if (content != of_absent) writer.Field(tag, [&](std::string* field) { *field += content; });
  });
  return fields;
}

absl::StatusOr<ColumnFamilyOptions> DecodeKeptOptions(std::string_view fields) {
  ColumnFamilyOptions options;
  RETURN_IF_ERROR(TakeFields("kept options", fields, [&](uint32_t tag, Decoder* in) -> absl::StatusOr<bool> {
    bool known = false;
    ForEachOption([&](uint32_t of_option, auto option) {
      if (of_option != tag) return;
      Take(in, &(options.*option));
      known = true;
    });
    return known;
  }));
  return options;
}

}  // namespace sepal
