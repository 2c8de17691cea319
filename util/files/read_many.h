// How `Directory::ReadMany` reads from the operating system.
//
// The requests of a batch are processed concurrently: through io_uring if the kernel has it and allows this process to
// use it (containers often do not), otherwise in a few threads, or in the calling thread if no other is available. Safe
// for concurrent use.
#pragma once

#include <functional>
#include <span>

#include "sepal/file_system.h"

namespace sepal {

// Reads one request by itself, with a `Read`.
void FillByRead(ReadRequest* request);

// The files must be those of util/files/posix_file.h.
void ReadManyPosix(std::span<ReadRequest> requests, const std::function<void(ReadRequest&)>& done);

// The two ways between which ReadManyPosix chooses. ReadManyByRing returns false, and does nothing, if there is no
// ring.
bool ReadManyByRing(std::span<ReadRequest> requests, const std::function<void(ReadRequest&)>& done);
void ReadManyByThreads(std::span<ReadRequest> requests, const std::function<void(ReadRequest&)>& done);

}  // namespace sepal
