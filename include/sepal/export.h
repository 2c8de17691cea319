// Marks what the shared library exports; everything else is hidden.
#pragma once

#define SEPAL_EXPORT __attribute__((visibility("default")))
