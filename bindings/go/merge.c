/* Merge operators whose function is Go's. */
#include <stdint.h>
#include <stdlib.h>

#include "_cgo_export.h"
#include "sepal/c_merge.h"

typedef struct {
  uintptr_t handle;
  char* name;
} operator_t;

static char* merge(void* state, const char* key, size_t klen, const char* base, size_t blen,
                   const char* const* operands, const size_t* sizes, size_t count, size_t* size) {
  return sepalGoMerge(((operator_t*)state)->handle, (char*)key, klen, (char*)base, blen, (char**)operands,
                      (size_t*)sizes, count, size);
}

static const char* name(void* state) { return ((operator_t*)state)->name; }

/* The library may use an operator as long as the process runs. */
static void keep(void* state) { (void)state; }

sepal_mergeoperator_t* sepal_go_merge_operator(uintptr_t handle, char* operator_name) {
  operator_t* const state = malloc(sizeof(operator_t));
  state->handle = handle;
  state->name = operator_name;
  return sepal_mergeoperator_create(state, keep, merge, NULL, name);
}
