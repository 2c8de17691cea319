// The extension module sepal._sepal. The package's public interface is sepal/__init__.py.
#include "sepal/version.h"
#include "src/errors.h"
#include "src/functions.h"
#include "src/space.h"

namespace {

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    "sepal._sepal",
    "An embedded ordered key-value store.",
    -1,
    sepal_python::module_functions,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
};

}  // namespace

PyMODINIT_FUNC PyInit__sepal() {
  using namespace sepal_python;
  Ref module(PyModule_Create(&definition));
  const bool made = module && AddErrors(module.get()) && AddSpaces(module.get()) && AddBatch(module.get()) &&
                    AddIterator(module.get()) && AddRawIterator(module.get()) &&
                    PyModule_AddStringConstant(module.get(), "__version__", sepal::VersionString()) == 0;
  return made ? module.Release() : nullptr;
}
