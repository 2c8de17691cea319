// Where the cluster of tools/rados_test.sh is, which says so in the environment.
#pragma once

#include <cstdlib>
#include <string>

#include "sepal/rados.h"

namespace sepal {

inline RadosOptions ClusterOptions() {
  const auto from = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string(value != nullptr ? value : "");
  };
  RadosOptions options;
  options.config_file = from("SEPAL_RADOS_CONF");
  options.keyring = from("SEPAL_RADOS_KEYRING");
  options.user = from("SEPAL_RADOS_USER");
  options.pool = from("SEPAL_RADOS_POOL");
  return options;
}

}  // namespace sepal
