// Values that are written and read in parts.
#include <algorithm>
#include <array>
#include <cstring>

#include "src/arguments.h"
#include "src/errors.h"
#include "src/space.h"

namespace sepal_python {

namespace {

// The bytes of an object with a method `read`, or of an iterable.
class PythonSource final : public sepal::ValueSource {
 public:
  // False, with an exception: it is neither.
  bool Take(PyObject* source) {
    read_ = Ref(PyObject_GetAttrString(source, "read"));
    if (read_) return true;
    PyErr_Clear();
    iterator_ = Ref(PyObject_GetIter(source));
    return static_cast<bool>(iterator_);
  }

  // Called without the GIL.
  absl::StatusOr<size_t> Read(std::span<char> buffer) override {
    const PyGILState_STATE gil = PyGILState_Ensure();
    const bool there = given_ < bytes_.size() || Next(buffer.size());
    const size_t part = there ? std::min(buffer.size(), bytes_.size() - given_) : 0;
    if (part > 0) std::memcpy(buffer.data(), bytes_.data() + given_, part);
    given_ += part;
    const bool failed = !there && PyErr_Occurred() != nullptr;
    if (failed) PyErr_Fetch(&type_, &value_, &trace_);
    PyGILState_Release(gil);
    if (failed) return absl::CancelledError("the source raised an exception");
    return part;
  }

  // Raises the source's exception again, if there was one. Returns whether there was.
  bool RaiseAgain() {
    if (type_ == nullptr) return false;
    PyErr_Restore(std::exchange(type_, nullptr), std::exchange(value_, nullptr), std::exchange(trace_, nullptr));
    return true;
  }

 private:
  // The next bytes that are not empty. False: there are none, or an exception was raised.
  bool Next(size_t most) {
    do {
      held_ = Ref(read_ ? PyObject_CallFunction(read_.get(), "n", static_cast<Py_ssize_t>(most))
                        : PyIter_Next(iterator_.get()));
      if (!held_) return false;
      Bytes taken;
      if (!taken.Take(held_.get(), "a part of the value")) return false;
      bytes_.assign(taken.view());
      given_ = 0;
    } while (bytes_.empty() && iterator_);
    return !bytes_.empty();
  }

  Ref read_, iterator_, held_;
  std::string bytes_;
  size_t given_ = 0;
  PyObject *type_ = nullptr, *value_ = nullptr, *trace_ = nullptr;
};

constexpr std::array<const char*, 4> kPutStreamNames = {"key", "source", "size", "sync"};
constexpr Signature kPutStream = {.function = "put_stream", .names = kPutStreamNames, .required = 3, .positional = 3};

constexpr std::array<const char*, 3> kReadValueNames = {"key", "offset", "size"};
constexpr Signature kReadValue = {.function = "read_value", .names = kReadValueNames, .required = 3, .positional = 3};

}  // namespace

PyObject* PutStream(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  std::array<PyObject*, 4> taken;
  if (!TakeArguments(kPutStream, {arguments, count, names}, taken)) return nullptr;
  Bytes key;
  PythonSource source;
  uint64_t size = 0;
  bool sync = false;
  if (!key.Take(taken[0], "key") || !source.Take(taken[1]) || !TakeSize(taken[2], "size", &size) ||
      !TakeFlag(taken[3], &sync)) {
    return nullptr;
  }
  SpaceState* const state = OpenSpace(self);
  if (state == nullptr) return nullptr;
  const FullKey full(*state, key.view());
  const sepal::ColumnFamily& family = FamilyOf(*state);
  sepal::DB& db = *state->database->db;
  const absl::Status status =
      WithoutGil(*state->database, [&] { return db.PutStream(family, full.view(), size, source, {.sync = sync}); });
  return source.RaiseAgain() ? nullptr : NoneOrRaise(status);
}

PyObject* ReadValue(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  std::array<PyObject*, 3> taken;
  if (!TakeArguments(kReadValue, {arguments, count, names}, taken)) return nullptr;
  Bytes key;
  uint64_t offset = 0, size = 0;
  if (!key.Take(taken[0], "key") || !TakeSize(taken[1], "offset", &offset) || !TakeSize(taken[2], "size", &size)) {
    return nullptr;
  }
  SpaceState* const state = OpenSpace(self);
  if (state == nullptr) return nullptr;
  // No value is longer.
  PyObject* bytes =
      PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(std::min<uint64_t>(size, sepal::kMaxValueBytes)));
  if (bytes == nullptr) return nullptr;
  const std::shared_ptr<const sepal::Snapshot> snapshot = state->snapshot;
  const FullKey full(*state, key.view());
  const sepal::ColumnFamily& family = FamilyOf(*state);
  sepal::DB& db = *state->database->db;
  const std::span<char> buffer(PyBytes_AS_STRING(bytes), static_cast<size_t>(PyBytes_GET_SIZE(bytes)));
  const absl::StatusOr<sepal::ValuePart> part = WithoutGil(*state->database, [&] {
    return db.ReadValue(family, full.view(), offset, buffer, {.snapshot = snapshot.get()});
  });
  if (!part.ok()) {
    Py_DECREF(bytes);
    return absl::IsNotFound(part.status()) ? None() : Raise(part.status());
  }
  if (part->copied < buffer.size() && _PyBytes_Resize(&bytes, static_cast<Py_ssize_t>(part->copied)) != 0) {
    return nullptr;
  }
  return Py_BuildValue("NK", bytes, static_cast<unsigned long long>(part->value_bytes));
}

PyObject* OpenValue(PyObject* self, PyObject* key) {
  const Ref module(PyImport_ImportModule("sepal.value_file"));
  return module ? PyObject_CallMethod(module.get(), "open_value", "OO", self, key) : nullptr;
}

}  // namespace sepal_python
