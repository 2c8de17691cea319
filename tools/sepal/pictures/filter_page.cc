#include "tools/sepal/pictures/filter_page.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <variant>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
#include "filters/filter_file.h"
#include "tools/sepal/filter_access.h"
#include "tools/sepal/pictures/bench_page.h"

namespace sepal::tools {
namespace {

using filters::FilterKind;

constexpr uint64_t kMostParts = 1024;

// The cells of a body, of `bits` bits each: they divide a byte, or are whole bytes.
struct Cells {
  std::string_view body;
  uint64_t count = 0;
  unsigned bits = 1;
  uint64_t counter_every = 0;  // of so many cells the last one is no cell of a key; 0: all are

  bool IsSet(uint64_t cell) const {
    const uint64_t bit = cell * bits;
    if (bits < 8) return (static_cast<uint8_t>(body[bit / 8]) >> (bit % 8) & ((1u << bits) - 1)) != 0;
    return body.substr(bit / 8, bits / 8).find_first_not_of('\0') != std::string_view::npos;
  }
};

// The share of cells that are set, part by part.
std::vector<double> FillsOf(const Cells& cells) {
  const uint64_t parts = std::min(kMostParts, cells.count);
  std::vector<double> fills;
  for (uint64_t part = 0, cell = 0; part < parts; ++part) {
    const uint64_t end = cells.count / parts * (part + 1) + cells.count % parts * (part + 1) / parts;
    uint64_t set = 0, all = 0;
    for (; cell < end; ++cell) {
      if (cells.counter_every > 0 && (cell + 1) % cells.counter_every == 0) continue;
      ++all;
      set += cells.IsSet(cell);
    }
    fills.push_back(all == 0 ? 0 : static_cast<double>(set) / static_cast<double>(all));
  }
  return fills;
}

// Appends the fills of a file that is not made of others.
void AddMap(const std::string& file, const std::string& name, nlohmann::json* maps) {
  const filters::DecodedFile decoded = filters::DecodeFile(file, name).value();
  const filters::FileHeader& header = decoded.header;
  Cells cells{.body = decoded.body, .count = header.size};
  switch (header.kind) {
    case FilterKind::kClassicBloom:
    case FilterKind::kBlockedBloom:
    case FilterKind::kPartitionedBloom:
    case FilterKind::kAgeing:
      break;
    case FilterKind::kCountingBloom:
      cells.bits = header.width;
      break;
    case FilterKind::kFingerprintTable:
      cells.bits = header.width;
      cells.counter_every = filters::FingerprintTable::kSlots + 1;
      cells.count *= cells.counter_every;
      break;
    // Their cells are full, or are no set's.
    case FilterKind::kTwoGenerations:
    case FilterKind::kScalableBloom:
    case FilterKind::kStatic:
    case FilterKind::kCountMin:
    case FilterKind::kHyperLogLog:
      return;
  }
  maps->push_back({{"name", name}, {"fills", FillsOf(cells)}});
}

nlohmann::json MapsOf(const filters::AnyFilter& filter, const std::string& file) {
  nlohmann::json maps = nlohmann::json::array();
  if (const auto* scalable = std::get_if<filters::ScalableBloomFilter>(&filter)) {
    for (size_t i = 0; i < scalable->parts().size(); ++i) {
      AddMap(scalable->parts()[i].Serialize(), absl::StrFormat("Bits of part %d", i + 1), &maps);
    }
  } else if (const auto* generations = std::get_if<filters::TwoGenerationFilter>(&filter)) {
    AddMap(generations->younger().Serialize(), "Bits of the younger generation", &maps);
    AddMap(generations->older().Serialize(), "Bits of the older generation", &maps);
  } else {
    AddMap(file, "Where it is filled", &maps);
  }
  return maps;
}

}  // namespace

std::string FilterPage(const nlohmann::json& data) { return PageWithData(FilterPageTemplate(), data); }

nlohmann::json FilterPageData(const std::string& name, const filters::AnyFilter& filter, uint64_t most_bytes) {
  const std::string file = filters::Serialize(filter);
  const filters::FilterInfo info = filters::Describe(filter);
  nlohmann::json data = {{"name", name}, {"info", InfoJson(info)}, {"asks", AnswersQuestions(info.kind)}};
  data["maps"] = MapsOf(filter, file);
  if (file.size() <= most_bytes) {
    data["bytes"] = absl::Base64Escape(file);
  } else {
    data["bytes"] = nullptr;
  }
  return data;
}

}  // namespace sepal::tools
