#include "tools/terminal/terminal_color.h"

#include <unistd.h>

#include <cstdlib>
#include <iostream>

namespace sepal::tools {

bool WantsColor(ColorChoice choice, bool terminal, const char* no_color, const char* term) {
  if (choice != ColorChoice::kAuto) return choice == ColorChoice::kAlways;
  if (!terminal || (no_color != nullptr && *no_color != '\0')) return false;
  return term != nullptr && *term != '\0' && std::string_view(term) != "dumb";
}

bool IsTerminal(const std::ostream& stream) {
  return (&stream == &std::cout && isatty(STDOUT_FILENO) != 0) || (&stream == &std::cerr && isatty(STDERR_FILENO) != 0);
}

Paint Paint::For(const std::ostream& stream, ColorChoice choice) {
  return Paint(WantsColor(choice, IsTerminal(stream), std::getenv("NO_COLOR"), std::getenv("TERM")));
}

std::string Paint::With(std::string_view code, std::string_view text) const {
  if (!on_ || text.empty()) return std::string(text);
  return "\x1b[" + std::string(code) + "m" + std::string(text) + "\x1b[0m";
}

}  // namespace sepal::tools
