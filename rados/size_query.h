// How many bytes a file has that somebody is writing: its objects tell it, of which all but the last are full.
//
// Cost: one round trip for a file that has grown by less than an object since its size was `known_bytes`, and two
// queries. Only a new owner of the directory makes such a file shorter.
#pragma once

#include <rados/librados.h>

#include <cstdint>
#include <ctime>
#include <deque>
#include <string_view>

#include "absl/status/statusor.h"
#include "rados/client.h"
#include "rados/layout.h"
#include "rados/operations.h"

namespace sepal::rados {

// Asked as it is made; an answer that nobody awaits is waited for as it goes.
class SizeQuery {
 public:
  SizeQuery(Client* client, rados_ioctx_t io, const Entry& entry, uint64_t known_bytes);

  // `what`: the path, for messages.
  absl::StatusOr<uint64_t> Await(std::string_view what);

 private:
  struct Asked {
    uint64_t object = 0;
    uint64_t bytes = 0;
    time_t time = 0;
    Pending pending;  // goes first, since librados writes to the others
  };
  void Ask(uint64_t count);

  Client* const client_;
  const rados_ioctx_t io_;
  const Entry entry_;
  uint64_t next_;  // the object that is asked next
  std::deque<Asked> asked_;
};

}  // namespace sepal::rados
