// Marks the symbols that the shared library exports; all others are hidden.
#pragma once

#define SEPAL_EXPORT __attribute__((visibility("default")))
