#include "tools/terminal/input_buffer.h"

#include <unistd.h>

#include <cerrno>
#include <ios>

namespace sepal::tools {

// The stream catches this exception, and is then bad.
InputBuffer::int_type InputBuffer::underflow() {
  ssize_t got = 0;
  do {
    got = read(descriptor_, bytes_.data(), bytes_.size());
  } while (got < 0 && errno == EINTR);
  if (got < 0) throw std::ios_base::failure("read", std::error_code(errno, std::generic_category()));
  if (got == 0) return traits_type::eof();
  setg(bytes_.data(), bytes_.data(), bytes_.data() + got);
  return traits_type::to_int_type(bytes_[0]);
}

}  // namespace sepal::tools
