// Colours: only on a terminal, and only if they are not switched off (https://no-color.org). Text without colours has
// no escape sequences, so that piped output is plain.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

namespace sepal::tools {

enum class ColorChoice { kAuto, kAlways, kNever };

// Decides on colours: `no_color` and `term` are the environment's NO_COLOR and TERM; null: not set. An explicit choice
// overrides both.
bool WantsColor(ColorChoice choice, bool terminal, const char* no_color, const char* term);

// Whether `stream` writes to a terminal: std::cout and std::cerr can, no other does.
bool IsTerminal(const std::ostream& stream);

class Paint {
 public:
  Paint() = default;
  explicit Paint(bool on) : on_(on) {}
  // The colours for output to `stream`.
  static Paint For(const std::ostream& stream, ColorChoice choice);

  std::string Bold(std::string_view text) const { return With("1", text); }
  std::string Faint(std::string_view text) const { return With("2", text); }
  std::string Good(std::string_view text) const { return With("32", text); }
  std::string Bad(std::string_view text) const { return With("1;31", text); }
  std::string Picture(std::string_view text) const { return With("36", text); }

 private:
  std::string With(std::string_view code, std::string_view text) const;

  bool on_ = false;
};

}  // namespace sepal::tools
