// Reads a file descriptor for a stream. std::cin treats a read error as the end of its input; a stream with this buffer
// is then bad(), so that half of an input is never used as if it were all.
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
