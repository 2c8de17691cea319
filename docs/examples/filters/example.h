// What the examples have in common: generated input, and figures beside theory.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <random>
#include <string>
#include <utility>

namespace example {

// Prints a measured rate beside that of theory; whether they agree, as far as chance allows: within five standard
// deviations, and 3 % for what theory leaves out.
inline bool Agrees(const char* what, uint64_t wrong, uint64_t asked, double theory) {
  const double expected = theory * static_cast<double>(asked);
  std::printf("%s: %llu of %llu, %.4g; in theory %.4g\n", what, static_cast<unsigned long long>(wrong),
              static_cast<unsigned long long>(asked), static_cast<double>(wrong) / static_cast<double>(asked), theory);
  return std::abs(static_cast<double>(wrong) - expected) <= 5 * std::sqrt(expected) + 0.03 * expected + 1;
}

// Letters and digits.
inline std::string RandomText(std::mt19937_64& random, size_t length) {
  static constexpr char kLetters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
  std::string text;
  while (text.size() < length) text += kLetters[random() % (sizeof(kLetters) - 1)];
  return text;
}

// A directory, or the place of a file, that nothing has yet, and that goes with what the example made there.
class NewPlace {
 public:
  explicit NewPlace(std::filesystem::path path) : path_(std::move(path)), is_new_(!std::filesystem::exists(path_)) {
    if (!is_new_) std::fprintf(stderr, "%s is there already: name a place where nothing is\n", path_.c_str());
  }
  ~NewPlace() {
    if (is_new_) std::filesystem::remove_all(path_);
  }
  NewPlace(const NewPlace&) = delete;
  NewPlace& operator=(const NewPlace&) = delete;

  bool is_new() const { return is_new_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  const std::filesystem::path path_;
  const bool is_new_;
};

inline int Fail(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  return 1;
}

}  // namespace example
