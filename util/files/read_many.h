// How `Directory::ReadMany` gets its bytes from the operating system.
//
// The requests of a batch are under way together: through io_uring where the kernel has it and lets this process use
// it (containers often do not), else in a few threads, or in the calling one if there are none to be had. Safe for
// concurrent use.
#pragma once

#include <functional>
#include <span>

#include "sepal/file_system.h"

namespace sepal {

// One request by itself, with a `Read`.
void FillByRead(ReadRequest* request);

// Files must be those of util/files/posix_file.h.
void ReadManyPosix(std::span<ReadRequest> requests, const std::function<void(ReadRequest&)>& done);

// The two ways, of which ReadManyPosix takes one. Through the ring: false, with nothing done, where there is none.
bool ReadManyByRing(std::span<ReadRequest> requests, const std::function<void(ReadRequest&)>& done);
void ReadManyByThreads(std::span<ReadRequest> requests, const std::function<void(ReadRequest&)>& done);

}  // namespace sepal
