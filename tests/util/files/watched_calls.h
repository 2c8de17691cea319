// Makes chosen system calls of one piece of work fail, come short, or be interrupted.
//
// The work runs in a thread of its own, whose system call filter holds each call of the chosen kinds until the calling
// thread, the judge, has decided its result. A judge may read and write the memory of the arguments. It takes no lock
// that the work may hold at the call. The filter ends with the thread.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "util/files/posix_status.h"
#include "util/thread/sync.h"

namespace sepal {

// The result of a call in place of the kernel's.
struct CallAnswer {
  int error = 0;
  int64_t value = 0;
};
// Unset: the kernel handles the call.
using CallJudge = std::function<std::optional<CallAnswer>(const seccomp_data&)>;

// Whether a call's first argument is the descriptor of a log's ring. A log whose ring's length cannot be synced does
// without a ring, and no later promise rests on that sync.
inline bool IsOfARing(const seccomp_data& call) {
  char path[4096];
  const std::string link = "/proc/self/fd/" + std::to_string(call.args[0]);
  const ssize_t length = ::readlink(link.c_str(), path, sizeof(path));
  return length > 0 && std::string_view(path, static_cast<size_t>(length)).ends_with(".ring");
}

namespace watched_calls_internal {

// Watches `numbers` from now on, in this thread; returns the judge's descriptor, which is invalid if filters are not
// permitted. Of mmap, which allocators need too, only shared mappings are watched.
inline UniqueFd Watch(std::initializer_list<long> numbers) {
  std::vector<sock_filter> filter = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
  for (const long number : numbers) {
    const bool mapping = number == SYS_mmap;
    filter.push_back(
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(number), 0, static_cast<uint8_t>(mapping ? 4 : 1)));
    if (mapping) {
      filter.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[3])));
      filter.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MAP_SHARED, 1, 0));
      filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    }
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  struct sock_fprog program = {static_cast<unsigned short>(filter.size()), filter.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return UniqueFd();
  return UniqueFd(
      static_cast<int>(::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program)));
}

// Until the watched thread has ended.
inline void Answer(int listener, const CallJudge& judge) {
  while (true) {
    struct pollfd waiting = {.fd = listener, .events = POLLIN, .revents = 0};
    if (::poll(&waiting, 1, -1) < 0) continue;
    if ((waiting.revents & POLLIN) == 0) return;
    struct seccomp_notif call = {};
    if (::ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) != 0) continue;  // A signal has taken it back.
    struct seccomp_notif_resp response = {.id = call.id, .val = 0, .error = 0, .flags = 0};
    if (const std::optional<CallAnswer> answer = judge(call.data); answer.has_value()) {
      response.error = -answer->error;
      response.val = answer->value;
    } else {
      response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    }
    (void)::ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
  }
}

}  // namespace watched_calls_internal

// Does `work` while `judge` answers its calls of these `numbers` (SYS_...). False, with nothing done, where filters are
// not permitted.
inline bool WithWatchedCalls(std::initializer_list<long> numbers, const CallJudge& judge,
                             const std::function<void()>& work) {
  UniqueFd listener;
  Notification watching;
  Thread worker([&] {
    listener = watched_calls_internal::Watch(numbers);
    const bool permitted = listener.valid();
    watching.Notify();
    if (permitted) work();
  });
  watching.WaitForNotification();
  if (!listener.valid()) return false;
  watched_calls_internal::Answer(listener.get(), judge);
  return true;
}

// Each call fails with `error`, or answers `value` having done nothing.
inline CallJudge EachFails(int error) {
  return [error](const seccomp_data&) { return std::optional(CallAnswer{.error = error}); };
}
inline CallJudge EachAnswers(int64_t value) {
  return [value](const seccomp_data&) { return std::optional(CallAnswer{.value = value}); };
}
// The call of this number, from 0, fails; all others go on.
inline CallJudge OneFails(int number, int error) {
  return [number, error, seen = 0](const seccomp_data&) mutable {
    return seen++ == number ? std::optional(CallAnswer{.error = error}) : std::nullopt;
  };
}

}  // namespace sepal
