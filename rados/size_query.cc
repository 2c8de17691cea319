#include "rados/size_query.h"

#include <cerrno>

namespace sepal::rados {

SizeQuery::SizeQuery(Client* client, rados_ioctx_t io, const Entry& entry, uint64_t known_bytes)
    : client_(client), io_(io), entry_(entry), next_(known_bytes == 0 ? 0 : (known_bytes - 1) / entry.object_bytes) {
  Ask(2);
}

void SizeQuery::Ask(uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    Asked& asked = asked_.emplace_back();
    asked.object = next_++;
    ++client_->counts.size_queries;
    const int code = rados_aio_stat(io_, ObjectName(entry_.id, asked.object).c_str(), asked.pending.get(), &asked.bytes,
                                    &asked.time);
    if (code < 0) asked.pending.Failed(code);
  }
}

absl::StatusOr<uint64_t> SizeQuery::Await(std::string_view what) {
  constexpr uint64_t kAtOnce = 8;
  const uint64_t first = asked_.front().object;
  for (;;) {
    Asked& asked = asked_.front();
    const int code = asked.pending.Await();
    const uint64_t before = asked.object * entry_.object_bytes;
    // That the file has become shorter, only the objects before can tell.
    if (code == -ENOENT && asked.object == first && first > 0) {
      return SizeQuery(client_, io_, entry_, 0).Await(what);
    }
    if (code == -ENOENT) return before;
    if (code < 0) return client_->Note(code, what);
    if (asked.bytes < entry_.object_bytes) return before + asked.bytes;
    asked_.pop_front();
    if (asked_.empty()) Ask(kAtOnce);
  }
}

}  // namespace sepal::rados
