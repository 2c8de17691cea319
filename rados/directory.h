// The calls of a directory over a space.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "rados/space.h"
#include "sepal/file_system.h"

namespace sepal::rados {

// `path`: as it was given.
std::unique_ptr<Directory> MakeDirectory(std::shared_ptr<Space> space, std::string path);
struct Stray {
  rados_ioctx_t io;  // of the pool that it lies in
  std::string object;
};
// The objects in the space that no entry of its index names, and that no other directory has a reference to.
absl::StatusOr<std::vector<Stray>> FindStrays(Space& space);

}  // namespace sepal::rados
