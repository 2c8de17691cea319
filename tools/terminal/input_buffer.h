// Reads a file descriptor for a stream. std::cin takes an error of reading for the end of its input; a stream of this
// is bad() then, so that nobody makes something of half of an input.
#pragma once

#include <streambuf>
#include <vector>

namespace sepal::tools {

class InputBuffer final : public std::streambuf {
 public:
  // It must stay open.
  explicit InputBuffer(int descriptor) : descriptor_(descriptor), bytes_(size_t{64} << 10) {}

 protected:
  int_type underflow() override;

 private:
  const int descriptor_;
  std::vector<char> bytes_;
};

}  // namespace sepal::tools
