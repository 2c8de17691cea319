// The engine's access to the inside of a PinnedValue.
#pragma once

#include <string_view>

#include "sepal/db.h"

namespace sepal {

struct PinnedValueAccess {
  // Pins `bytes` until `release(owner, detail)` is called.
  static void Pin(std::string_view bytes, PinnedValue::Release release, void* owner, void* detail, PinnedValue* value) {
    value->Pin(bytes, release, owner, detail);
  }
  // Copies `bytes` into the object or, if they are long, into a buffer that later copies reuse.
  static void Copy(std::string_view bytes, PinnedValue* value) { value->Copy(bytes); }
};

}  // namespace sepal
