#include "tools/sepal/pictures/filter_picture.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "absl/strings/str_format.h"
#include "sepal/filter/any_filter.h"

namespace sepal::tools {
namespace {

using filters::BloomLayout;

// The colors are those of the other pictures.
constexpr std::string_view kStyle = R"style(<style>
svg { color-scheme:light dark; --bg:#fff; --fg:#1c2024; --dim:#60646c; --line:#d9d9e0; --blocked:#0072b2; --bloom:#d55e00;
  --partitioned:#009e73; background:var(--bg) }
@media (prefers-color-scheme: dark) { svg { --bg:#111113; --fg:#edeef0; --dim:#b0b4ba; --line:#43484e;
  --blocked:#4aa3df; --bloom:#ff8a3d; --partitioned:#2ec99b } }
text { font:11px system-ui,sans-serif; fill:var(--dim) } .title { font-size:13px; fill:var(--fg) }
.back { fill:var(--bg) } .grid { stroke:var(--line); stroke-width:1 } .theory { stroke-width:1.75 }
.blocked { stroke:var(--blocked); fill:var(--blocked) } .bloom { stroke:var(--bloom); fill:var(--bloom) }
.partitioned { stroke:var(--partitioned); fill:var(--partitioned) } path.theory { fill:none }
path.partitioned { stroke-dasharray:6 5 } circle { r:4px } circle.bloom { r:3.2px } circle.partitioned { r:2.4px }
</style>
)style";

constexpr double kChartWidth = 340, kChartHeight = 300, kTop = 64, kLeft = 52, kGap = 28, kBottom = 46;
constexpr double kLeastRate = 1e-9;  // a line goes no deeper

std::string_view NameOf(BloomLayout layout) { return filters::NameOf(static_cast<filters::FilterKind>(layout)); }

std::string Short(double number) {
  if (number >= 1e6) return absl::StrFormat("%gM", number / 1e6);
  if (number >= 1e3) return absl::StrFormat("%gk", number / 1e3);
  return absl::StrFormat("%g", number);
}

// One of the charts. Its rates are on a logarithmic scale from 1 down to 10^-decades.
class Chart {
 public:
  Chart(RateAxis axis, int number, const RateExperiment& experiment, int decades)
      : axis_(axis),
        left_(kLeft + number * (kChartWidth + kGap + kLeft)),
        decades_(decades),
        most_(axis == RateAxis::kKeys     ? 2 * static_cast<double>(experiment.keys)
              : axis == RateAxis::kHashes ? 16
                                          : 24) {}

  std::string Frame(const RateExperiment& experiment) const {
    std::string svg =
        absl::StrFormat("<text class=\"title\" x=\"%.0f\" y=\"%.0f\">%s</text>\n", left_, kTop - 12, Title(experiment));
    for (int decade = 0; decade <= decades_; ++decade) {
      const double y = Y(std::pow(10, -decade));
      absl::StrAppendFormat(&svg, "<line class=\"grid\" x1=\"%.0f\" x2=\"%.0f\" y1=\"%.1f\" y2=\"%.1f\"/>", left_,
                            left_ + kChartWidth, y, y);
      absl::StrAppendFormat(&svg, "<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", left_ - 6, y + 4,
                            decade == 0 ? "1" : absl::StrFormat("1e-%d", decade));
    }
    for (int tick = 0; tick <= 4; ++tick) {
      const double x = most_ * tick / 4;
      absl::StrAppendFormat(&svg, "<text x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\">%s</text>\n", X(x),
                            kTop + kChartHeight + 16, Short(x));
    }
    return svg + absl::StrFormat("<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"middle\">%s</text>\n",
                                 left_ + kChartWidth / 2, kTop + kChartHeight + 34, Unit());
  }

  std::string Line(BloomLayout layout, const std::vector<RatePoint>& points) const {
    std::string path;
    for (const RatePoint& point : points) {
      if (point.axis != axis_ || point.layout != layout || point.theory < std::pow(10, -decades_)) continue;
      absl::StrAppendFormat(&path, "%s%.1f,%.1f", path.empty() ? "M" : "L", X(point.x), Y(point.theory));
    }
    return absl::StrFormat("<path class=\"theory %s\" d=\"%s\"/>\n", NameOf(layout), path);
  }

  std::string Dots(const std::vector<RatePoint>& points) const {
    std::string svg;
    for (const RatePoint& point : points) {
      if (point.axis != axis_ || point.false_positives < kLeastFalsePositives) continue;
      if (point.Observed() < std::pow(10, -decades_)) continue;
      absl::StrAppendFormat(
          &svg,
          "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"><title>%s, %g %s: %.4g measured, %.4g "
          "in theory</title></circle>\n",
          NameOf(point.layout), X(point.x), Y(point.Observed()), NameOf(point.layout), point.x, Unit(),
          point.Observed(), point.theory);
    }
    return svg;
  }

 private:
  double X(double x) const { return left_ + x / most_ * kChartWidth; }
  double Y(double rate) const { return kTop + std::clamp(-std::log10(rate) / decades_, 0.0, 1.0) * kChartHeight; }
  std::string_view Unit() const {
    switch (axis_) {
      case RateAxis::kKeys:
        return "keys";
      case RateAxis::kHashes:
        return "hashes";
      case RateAxis::kBitsPerKey:
        return "bits a key";
    }
    return "";
  }
  std::string Title(const RateExperiment& experiment) const {
    const std::string keys = Short(static_cast<double>(experiment.keys));
    switch (axis_) {
      case RateAxis::kKeys:
        return absl::StrFormat("more keys, in filters made for %s at %g", keys, experiment.rate);
      case RateAxis::kHashes:
        return absl::StrFormat("more hashes, of %s keys in the same bits", keys);
      case RateAxis::kBitsPerKey:
        return absl::StrFormat("more bits, for %s keys with the best hashes", keys);
    }
    return "";
  }

  const RateAxis axis_;
  const double left_;
  const int decades_;
  const double most_;  // at the end of the axis
};

// How deep the charts go. Filters of few keys, at the left of the first chart, would make the others flat.
int DecadesOf(const std::vector<RatePoint>& theory) {
  double least = 0.1;
  for (const RatePoint& point : theory) {
    if (point.axis != RateAxis::kKeys) least = std::min(least, point.theory);
  }
  return static_cast<int>(std::ceil(-std::log10(std::max(least, kLeastRate)) - 1e-9));
}

}  // namespace

std::string RatesPicture(const RateExperiment& experiment, const std::vector<RatePoint>& theory,
                         const std::vector<RatePoint>& measured) {
  const double width = 3 * (kLeft + kChartWidth + kGap), height = kTop + kChartHeight + kBottom;
  std::string svg = absl::StrFormat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" "
      "role=\"img\">\n"
      "<title>Rates of false positives of Bloom filters: theory as lines, measured as dots</title>\n",
      width, height, width, height);
  svg += kStyle;
  absl::StrAppendFormat(&svg, "<rect class=\"back\" width=\"%.0f\" height=\"%.0f\"/>\n", width, height);
  absl::StrAppendFormat(
      &svg,
      "<text x=\"%.0f\" y=\"22\">rate of false positives: theory as lines, measured as dots (%s absent "
      "keys each; none for fewer than %u false positives)</text>\n",
      kLeft, Short(static_cast<double>(experiment.lookups)), kLeastFalsePositives);
  double at = width - kGap;
  for (auto layout = experiment.layouts.rbegin(); layout != experiment.layouts.rend(); ++layout) {
    at -= 100;
    absl::StrAppendFormat(&svg,
                          "<circle class=\"%s\" cx=\"%.0f\" cy=\"18\" r=\"4\"/><text x=\"%.0f\" y=\"22\">%s</text>\n",
                          NameOf(*layout), at, at + 10, NameOf(*layout));
  }
  const int decades = DecadesOf(theory);
  int number = 0;
  for (const RateAxis axis : kRateAxes) {
    const Chart chart(axis, number++, experiment, decades);
    svg += chart.Frame(experiment);
    for (const BloomLayout layout : experiment.layouts) svg += chart.Line(layout, theory);
    svg += chart.Dots(measured);
  }
  return svg + "</svg>\n";
}

}  // namespace sepal::tools
