#include "sepal/abi.h"

// The settings with which the library was compiled.
extern "C" const char SEPAL_ABI_SYMBOL = 1;
