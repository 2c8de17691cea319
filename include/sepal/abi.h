// A program must be compiled with the Abseil, and with the settings of the standard library, that Sepal was compiled
// with: the public headers contain types of both, whose layout differs between versions. Every object file that
// includes this header refers to a symbol whose name states them, and the library defines only the symbol of its own
// settings. A program with other settings fails to link, with a message like
//
//   undefined reference to `sepal_compiled_with_lts_20230802_20230802_std_string_view_cxx11abi_1'
#pragma once

#include <cstddef>  // for the macros of the standard library

#include "absl/base/config.h"
#include "sepal/export.h"

#if ABSL_OPTION_USE_INLINE_NAMESPACE == 1
#define SEPAL_ABI_ABSEIL ABSL_OPTION_INLINE_NAMESPACE_NAME
#else
#define SEPAL_ABI_ABSEIL head
#endif
#ifdef ABSL_LTS_RELEASE_VERSION
#define SEPAL_ABI_RELEASE ABSL_LTS_RELEASE_VERSION
#else
#define SEPAL_ABI_RELEASE unreleased
#endif
#ifdef ABSL_USES_STD_STRING_VIEW
#define SEPAL_ABI_VIEW std_string_view
#else
#define SEPAL_ABI_VIEW absl_string_view
#endif
#if defined(_GLIBCXX_DEBUG)
#define SEPAL_ABI_STD glibcxx_debug
#elif defined(_GLIBCXX_USE_CXX11_ABI) && _GLIBCXX_USE_CXX11_ABI
#define SEPAL_ABI_STD cxx11abi_1
#elif defined(_GLIBCXX_USE_CXX11_ABI)
#define SEPAL_ABI_STD cxx11abi_0
#else
#define SEPAL_ABI_STD libcxx
#endif

#define SEPAL_ABI_JOIN_EXPANDED(prefix, a, b, c, d) prefix##_##a##_##b##_##c##_##d
#define SEPAL_ABI_JOIN(prefix, a, b, c, d) SEPAL_ABI_JOIN_EXPANDED(prefix, a, b, c, d)
#define SEPAL_ABI_NAME(prefix) \
  SEPAL_ABI_JOIN(prefix, SEPAL_ABI_ABSEIL, SEPAL_ABI_RELEASE, SEPAL_ABI_VIEW, SEPAL_ABI_STD)

#define SEPAL_ABI_SYMBOL SEPAL_ABI_NAME(sepal_compiled_with)

extern "C" SEPAL_EXPORT const char SEPAL_ABI_SYMBOL;

namespace sepal::internal {

// `retain` keeps it where the linker removes unreferenced symbols. The name differs for each setting too, so that the
// linker does not merge those of two settings.
#if __has_attribute(retain)
[[gnu::used, gnu::retain, gnu::visibility("hidden")]]
#else
[[gnu::used, gnu::visibility("hidden")]]
#endif
inline const char* const SEPAL_ABI_NAME(program_compiled_with) = &SEPAL_ABI_SYMBOL;

}  // namespace sepal::internal
