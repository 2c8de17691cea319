#include <cstdio>
#include <string>

#include "sepal/scan.h"

namespace sepal {

void ScanRange::ReportUnreadError(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr,
               "sepal: a scan ended with an error that was not read (call ScanRange::status after the loop): %s\n",
               status.ToString().c_str());
}

}  // namespace sepal
