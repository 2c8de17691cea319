// Metrics of this process and of a directory from the operating system (Linux: /proc and getrusage).
#pragma once

#include <cstdint>
#include <string>

namespace sepal::tools {

// CPU time of all threads since the process began, user and system.
uint64_t ProcessCpuNanos();
// Resident memory; 0 when /proc does not say.
uint64_t ResidentBytes();
// The peak of resident memory since the last reset (or the fork); 0 when /proc does not say. Mapped files count.
uint64_t PeakResidentBytes();
// Resets the peak; if /proc refuses, the old peak stays.
void ResetPeakResidentBytes();
// Bytes that the process caused to be sent to the storage layer (`write_bytes` of /proc/self/io: pages as they become
// dirty); 0 on file systems that do not count them, tmpfs for one.
uint64_t StorageBytesWritten();

// Bytes that the process caused to be read from the storage layer (`read_bytes`).
uint64_t StorageBytesRead();

struct DirectorySize {
  uint64_t data_bytes = 0;  // allocated to all files but logs
  uint64_t log_bytes = 0;   // of files named *.log
};
// Sizes of the regular files below `path`, as allocated space, so that sparse files count with the space that they use.
DirectorySize MeasureDirectory(const std::string& path);

// Processor, hardware threads, kernel and file system: for the head of a report.
std::string DescribeMachine(const std::string& data_path);

}  // namespace sepal::tools
