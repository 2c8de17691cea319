// What readers see of a database that another process writes: the views of all families as of one sequence number, as
// one immutable value.
//
// The writer does not know these readers, so its flushes and compactions keep no versions for them. A view therefore
// shows the state at its own sequence number, or at that of a snapshot that the writer keeps, and at no older one
// unless a family keeps its history: view and number belong together, and a snapshot of such a database holds the value
// that it was taken of. Later states are new values, which replace this one for all families at once.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "db/state/version/read_view.h"
#include "util/base/numbers.h"

namespace sepal {

struct JointView : std::enable_shared_from_this<JointView> {
  struct Part {
    ColumnFamilyId family;
    std::shared_ptr<const ReadView> view;
  };

  // `ascending`: by family.
  JointView(SequenceNumber number, std::vector<Part> ascending) : visible(number), parts(std::move(ascending)) {}

  // Null if the family did not exist then. Cost: a binary search.
  const ReadView* Of(ColumnFamilyId family) const {
    const auto it = std::lower_bound(parts.begin(), parts.end(), family,
                                     [](const Part& part, ColumnFamilyId id) { return part.family < id; });
    return it != parts.end() && it->family == family ? it->view.get() : nullptr;
  }

  const SequenceNumber visible;
  const std::vector<Part> parts;
};

}  // namespace sepal
