// Lines that a person types: with editing, and with a history over several runs, if libedit was there at build time;
// otherwise as the terminal sends them.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>

namespace sepal::tools {

class LineEditor {
 public:
  // `history_file`: where lines are remembered, readable by its owner alone; empty: nowhere.
  explicit LineEditor(std::string history_file);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  // The next line, without its end; nullopt at the end of the input. Without libedit it is read from `in`, and the
  // prompt goes to `out`.
  std::optional<std::string> Read(const std::string& prompt, std::istream& in, std::ostream& out);

  // Whether lines can be edited.
  static bool Edits();

 private:
  const std::string history_file_;
};

}  // namespace sepal::tools
