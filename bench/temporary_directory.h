// A new directory below TMPDIR, on a real file system, that is removed with its contents. Objects with open files in it
// must be destroyed before.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "absl/strings/str_format.h"
#include "util/base/check.h"

namespace sepal {

class TemporaryDirectory {
 public:
  // `name`: the beginning of the directory's name.
  explicit TemporaryDirectory(std::string_view name) {
    const char* const parent = std::getenv("TMPDIR");
    path_ = absl::StrFormat("%s/%s_XXXXXX", parent != nullptr ? parent : "/tmp", name);
    SEPAL_CHECK(mkdtemp(path_.data()) != nullptr);
  }
  ~TemporaryDirectory() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
    SEPAL_CHECK(!error);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace sepal
