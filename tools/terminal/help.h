// The help of a verb or a program, from the table of its flags.
#pragma once

#include <string>

#include "tools/terminal/terminal_color.h"

namespace CLI {
class App;
}  // namespace CLI

namespace sepal::tools {

std::string HelpText(const CLI::App& app, const Paint& paint);

}  // namespace sepal::tools
