#include "tools/terminal/line_editor.h"

#include <istream>
#include <ostream>
#include <utility>

#ifdef SEPAL_WITH_EDITLINE
#include <editline/readline.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#endif

namespace sepal::tools {

#ifdef SEPAL_WITH_EDITLINE

namespace {
constexpr int kHistoryLines = 1000;
}  // namespace

bool LineEditor::Edits() { return true; }

LineEditor::LineEditor(std::string history_file) : history_file_(std::move(history_file)) {
  rl_initialize();
  using_history();
  stifle_history(kHistoryLines);
  // Missing at first.
  if (!history_file_.empty()) read_history(history_file_.c_str());
}

LineEditor::~LineEditor() {
  if (history_file_.empty()) return;
  // Keys and values must stay private to the user.
  const mode_t before = umask(077);
  write_history(history_file_.c_str());
  umask(before);
}

std::optional<std::string> LineEditor::Read(const std::string& prompt, std::istream&, std::ostream& out) {
  out.flush();
  char* const typed = readline(prompt.c_str());
  if (typed == nullptr) {
    out << std::endl;
    return std::nullopt;
  }
  std::string line = typed;
  std::free(typed);
  if (!line.empty()) add_history(line.c_str());
  return line;
}

#else

bool LineEditor::Edits() { return false; }
LineEditor::LineEditor(std::string history_file) : history_file_(std::move(history_file)) {}
LineEditor::~LineEditor() = default;

std::optional<std::string> LineEditor::Read(const std::string& prompt, std::istream& in, std::ostream& out) {
  out << prompt << std::flush;
  std::string line;
  if (!std::getline(in, line)) {
    out << std::endl;
    return std::nullopt;
  }
  return line;
}

#endif

}  // namespace sepal::tools
