// Pages in headless Chromium.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "tests/tools/sepal_command_fixture.h"

namespace sepal::tools {

struct Rendering {
  bool dark = false;        // the preference of the browser's user
  int virtual_seconds = 0;  // that timers of the page see pass before it is looked at
};

// The browser's rendering of a page: its elements as text.
inline std::string Rendered(const std::string& page, const std::string& profile, const Rendering& rendering = {}) {
  const std::string dom = page + ".dom";
  std::string command = "timeout 100 chromium --headless=new --no-sandbox --disable-gpu --user-data-dir=" + profile +
                        " --blink-settings=preferredColorScheme=" + (rendering.dark ? "0" : "1");
  if (rendering.virtual_seconds > 0) {
    command += " --virtual-time-budget=" + std::to_string(rendering.virtual_seconds * 1000);
  }
  EXPECT_EQ(std::system((command + " --dump-dom file://" + page + " >" + dom + " 2>/dev/null").c_str()), 0);
  return Slurp(dom);
}

}  // namespace sepal::tools
