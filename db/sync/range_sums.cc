#include "db/sync/range_sums.h"

#include "util/base/coding.h"

namespace sepal {

RangeSums::RangeSums(std::initializer_list<RangeSum> ranges) {
  for (const RangeSum& range : ranges) Add(range);
}

std::optional<RangeSums> RangeSums::Parse(std::string bytes, size_t at, uint64_t count) {
  RangeSums ranges;
  ranges.bytes_ = std::move(bytes);
  ranges.first_ = at;
  Decoder decoder(std::string_view(ranges.bytes_).substr(at));
  std::string_view before;
  for (; count > 0 && decoder.ok(); --count) {
    ranges.offsets_.push_back(static_cast<uint32_t>(ranges.bytes_.size() - decoder.rest().size()));
    const std::string_view begin = decoder.LengthPrefixed();
    decoder.Varint();
    decoder.Bytes(2 * sizeof(uint64_t));
    const bool first = ranges.size() == 1;
    if (first ? !begin.empty() : begin <= before) return std::nullopt;
    before = begin;
  }
  if (!decoder.Done() || ranges.empty()) return std::nullopt;
  return ranges;
}

void RangeSums::Add(const RangeSum& range) {
  offsets_.push_back(static_cast<uint32_t>(bytes_.size()));
  PutLengthPrefixed(&bytes_, range.begin);
  PutVarint(&bytes_, range.entries);
  PutFixed64(&bytes_, range.hash[0]);
  PutFixed64(&bytes_, range.hash[1]);
}

size_t RangeSums::MostBytesOf(std::string_view begin) {
  return begin.size() + 2 * kMaxVarint64Bytes + 2 * sizeof(uint64_t);
}

RangeSum RangeSums::operator[](size_t i) const {
  Decoder decoder(std::string_view(bytes_).substr(offsets_[i]));
  RangeSum range{.begin = std::string(decoder.LengthPrefixed()), .entries = decoder.Varint()};
  for (uint64_t& hash : range.hash) hash = decoder.Fixed64();
  return range;
}

std::string_view RangeSums::BeginOf(size_t i) const {
  return Decoder(std::string_view(bytes_).substr(offsets_[i])).LengthPrefixed();
}

}  // namespace sepal
