#include "sepal/abi.h"

// What the library was compiled with.
extern "C" const char SEPAL_ABI_SYMBOL = 1;
