// SEPAL_CHECK stops the process, in every build, when the engine itself is wrong: continuing could damage data.
// SEPAL_DCHECK does so only in builds without NDEBUG, for checks on hot paths.
#pragma once

namespace sepal {

[[noreturn]] void CheckFailed(const char* file, int line, const char* condition);

}  // namespace sepal

#define SEPAL_CHECK(condition) \
  (__builtin_expect(static_cast<bool>(condition), 1) ? (void)0 : ::sepal::CheckFailed(__FILE__, __LINE__, #condition))

#ifdef NDEBUG
#define SEPAL_DCHECK(condition) ((void)sizeof(static_cast<bool>(condition)))
#else
#define SEPAL_DCHECK(condition) SEPAL_CHECK(condition)
#endif
