#include "table/key/compare_bytes.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "util/base/random.h"

namespace sepal {
namespace {

// Of just its size, so that a sanitizer sees any byte read or written beyond.
std::unique_ptr<char[]> Exactly(std::string_view bytes) {
  std::unique_ptr<char[]> copy(new char[bytes.size()]);
  std::copy(bytes.begin(), bytes.end(), copy.get());
  return copy;
}

int Sign(int x) { return x < 0 ? -1 : x > 0 ? 1 : 0; }

void ExpectAsTheLibrary(std::string_view a, std::string_view b) {
  const std::unique_ptr<char[]> x = Exactly(a), y = Exactly(b);
  const std::string_view u(x.get(), a.size()), v(y.get(), b.size());
  EXPECT_EQ(Sign(CompareBytes(u, v)), Sign(a.compare(b))) << a.size() << " " << b.size();
  EXPECT_EQ(EqualBytes(u, v), a == b) << a.size() << " " << b.size();
}

TEST(ShortBytesTest, ComparesAsTheLibraryDoesWhereverTheFirstDifferenceIs) {
  for (size_t n = 0; n < 80; ++n) {
    const std::string a(n, '\x7f');
    ExpectAsTheLibrary(a, a);
    for (size_t at = 0; at < n; ++at) {
      for (const char c : {'\x00', '\x7e', '\x80', '\xff'}) {
        std::string b = a;
        b[at] = c;
        ExpectAsTheLibrary(a, b);
        ExpectAsTheLibrary(b, a);
        // A later difference the other way does not count.
        if (at + 1 < n) b[at + 1] = static_cast<char>(~c);
        ExpectAsTheLibrary(a, b);
      }
    }
  }
}

TEST(ShortBytesTest, OfTwoThatBeginAlikeTheShorterComesFirst) {
  const std::string bytes(80, 'k');
  for (size_t n = 0; n <= bytes.size(); ++n) {
    for (size_t m = 0; m <= bytes.size(); ++m) ExpectAsTheLibrary(bytes.substr(0, n), bytes.substr(0, m));
  }
}

TEST(ShortBytesTest, CopiesAllAndNothingElse) {
  Random random(1);
  for (size_t n = 0; n < 80; ++n) {
    std::string bytes(n, '\0');
    for (char& c : bytes) c = static_cast<char>(random.Next());
    const std::unique_ptr<char[]> from = Exactly(bytes), to = Exactly(std::string(n, '\0'));
    CopyBytes(to.get(), from.get(), n);
    EXPECT_EQ(std::string_view(to.get(), n), bytes);
  }
}

}  // namespace
}  // namespace sepal
