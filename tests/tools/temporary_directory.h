// A new directory that is removed with its contents.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

namespace sepal::tools {

class TemporaryDirectory {
 public:
  TemporaryDirectory() : path_(testing::TempDir() + "/sepal-tools-XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) ADD_FAILURE() << "no temporary directory";
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::string File(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// The output of a program, and its exit status.
struct Outcome {
  int exit = -1;
  std::string out;
  std::string err;
};

}  // namespace sepal::tools
