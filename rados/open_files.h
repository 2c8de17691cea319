// Readers and writers of files, which share what rados/file.h has.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "rados/file.h"
#include "rados/space.h"
#include "sepal/file_system.h"

namespace sepal::rados {

// The length with which `SyncRange` sends all that was written, through whatever passes a file on.
inline constexpr uint64_t kWholeFile = UINT64_MAX;

// `complete`: nobody had the file open for writing as it was looked up.
std::unique_ptr<ReadableFile> MakeReader(std::shared_ptr<File> file, bool complete);
// `entry`: what the index has of the file while it is open.
std::unique_ptr<WritableFile> MakeWriter(std::shared_ptr<Space> space, std::shared_ptr<File> file, const Entry& entry);
// All requests at once; `done` is called in the order in which they arrive. Each file was made by MakeReader.
void ReadTogether(std::span<ReadRequest> requests, const std::function<void(ReadRequest&)>& done);

}  // namespace sepal::rados
