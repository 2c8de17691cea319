// The functions of the module, and declarations for the files with methods of databases.
#pragma once

#include <span>
#include <string>

#include "src/python.h"

namespace sepal_python {

extern PyMethodDef module_functions[];

PyObject* TextListOf(std::span<const std::string> texts);

}  // namespace sepal_python
