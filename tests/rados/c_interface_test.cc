// The C interface of databases on a cluster. Skipped without one.
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "tests/db/c/c_rados_test.h"
#include "tests/rados/cluster.h"
#include "tests/tools/temporary_directory.h"

namespace sepal {
namespace {

TEST(RadosCInterfaceTest, ADatabaseIsWrittenTakenOverAndRead) {
  const RadosOptions where = ClusterOptions();
  if (where.pool.empty()) GTEST_SKIP() << "no cluster: run tools/rados_test.sh";
  const tools::TemporaryDirectory cache;
  const std::string path = "databases/" + std::to_string(::getpid()) + "/c";
  const std::string cache_path = cache.path() + "/cache";
  const c_rados_cluster_t cluster = {.pool = where.pool.c_str(),
                                     .user = where.user.c_str(),
                                     .config_file = where.config_file.c_str(),
                                     .keyring = where.keyring.c_str(),
                                     .path = path.c_str(),
                                     .cache_directory = cache_path.c_str()};
  const char* const failed = c_rados_test(&cluster);
  EXPECT_EQ(failed, nullptr) << failed;
}

}  // namespace
}  // namespace sepal
