// Text in Prometheus' exposition format, version 0.0.4: families of samples, each with its help and type.
//
//   PrometheusText text;
//   text.Family("sepal_level_tables", "gauge", "Table files.");
//   text.Sample({{"level", "0"}}, 3);
//   std::string page = text.Take();
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace sepal {

// In the page of a database, this comment stands before the families that describe the process that has it open rather
// than its files.
inline constexpr std::string_view kPrometheusOfThisProcess = "of this process";

class PrometheusText {
 public:
  using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  // Begins a family; its samples must follow.
  void Family(std::string_view name, std::string_view type, std::string_view help);
  void Comment(std::string_view comment);
  // Adds a sample to the family; `suffix` is for the parts of a summary.
  void Sample(Labels labels, double value, std::string_view suffix = "");

  std::string Take() { return std::move(text_); }

 private:
  std::string name_;
  std::string text_;
};

}  // namespace sepal
