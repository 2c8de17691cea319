// A stream like a file on a full disk.
#pragma once

#include <streambuf>

namespace sepal::tools {

class FullDisk final : public std::streambuf {
 protected:
  int_type overflow(int_type) override { return traits_type::eof(); }
};

}  // namespace sepal::tools
