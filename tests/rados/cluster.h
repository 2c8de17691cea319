// Where the cluster of tools/rados_test.sh is, which says so in the environment.
#pragma once

#include <cstdlib>
#include <string>

#include "sepal/rados.h"

namespace sepal {

inline std::string FromEnvironment(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

// A pool that is erasure-coded.
inline std::string CodedPool() { return FromEnvironment("SEPAL_RADOS_CODED_POOL"); }
// A replicated one beside that of ClusterOptions.
inline std::string OtherPool() { return FromEnvironment("SEPAL_RADOS_OTHER_POOL"); }

inline RadosOptions ClusterOptions() {
  RadosOptions options;
  options.config_file = FromEnvironment("SEPAL_RADOS_CONF");
  options.keyring = FromEnvironment("SEPAL_RADOS_KEYRING");
  options.user = FromEnvironment("SEPAL_RADOS_USER");
  options.pool = FromEnvironment("SEPAL_RADOS_POOL");
  return options;
}

}  // namespace sepal
