// What the operating system says of this process and of a directory (Linux: /proc and getrusage).
#pragma once

#include <cstdint>
#include <string>

namespace sepal::tools {

// CPU time of all threads since the process began, user and system.
uint64_t ProcessCpuNanos();
// Resident memory; 0 when /proc does not say.
uint64_t ResidentBytes();
// The most resident memory since the last reset (or the fork); 0 when /proc does not say. Files that are mapped count.
uint64_t PeakResidentBytes();
// Lets the peak begin anew; where /proc refuses, it goes on from before.
void ResetPeakResidentBytes();
// Bytes that the process caused to be sent to the storage layer (`write_bytes` of /proc/self/io: pages as they become
// dirty); 0 on file systems that do not count them, tmpfs for one.
uint64_t StorageBytesWritten();

// Bytes that the process caused to be fetched from there (`read_bytes`).
uint64_t StorageBytesRead();

struct DirectorySize {
  uint64_t data_bytes = 0;  // allocated to all files but logs
  uint64_t log_bytes = 0;   // of files named *.log
};
// Of the regular files below `path`. Allocated space, so that sparse files count what they take.
DirectorySize MeasureDirectory(const std::string& path);

// Processor, hardware threads, kernel and file system: for the head of a report.
std::string DescribeMachine(const std::string& data_path);

}  // namespace sepal::tools
