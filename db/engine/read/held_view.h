// Keeps a view alive beyond the call that took it.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "db/engine/core/core.h"
#include "db/state/version/read_view.h"
#include "util/thread/fork.h"

namespace sepal {

// The last holder of a view also frees the tables that nothing else lists.
class HeldView {
 public:
  HeldView(std::shared_ptr<Core> core, std::shared_ptr<const ReadView> view)
      : core_(std::move(core)), view_(std::move(view)) {}
  ~HeldView() {
    if (view_ == nullptr) return;
    if (core_->Forked()) LeakAfterFork(std::pair(core_, view_));
    view_.reset();
    if (core_->deleter->HasWork()) core_->AskToRemoveUnusedFiles();
  }
  HeldView(HeldView&&) = default;
  HeldView& operator=(HeldView&&) = delete;
  const ReadView& operator*() const { return *view_; }
  const ReadView* operator->() const { return view_.get(); }

 private:
  std::shared_ptr<Core> core_;
  std::shared_ptr<const ReadView> view_;
};

// The position of a reader that goes on beyond the epoch guard under which it began.
struct HeldPoint {
  std::optional<HeldView> view = {};  // unset if the family was dropped
  SequenceNumber visible = {};
  std::shared_ptr<const void> standing = nullptr;  // see RangeDeletes::Stand
};

}  // namespace sepal
