#!/usr/bin/env bash
# Shows that house_check.sh finds each thing it forbids, and nothing in a tree that is in order.
set -eu
check=$(cd "$(dirname "$0")" && pwd)/house_check.sh
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failures=0

fresh_tree() {
  rm -rf "${tree:?}"/*
  mkdir -p "$tree"/{include/sepal,util/base,util/thread,sim,table/key,table/file,db/format,db/decide/visibility,db/engine/face,tools/sepal,tests/db/c}
  printf '#pragma once\n#include "util/base/a.h"\n' >"$tree/table/key/good.h"
  printf '#pragma once\n' >"$tree/util/base/a.h"
  { printf 'int Long() {\n'; yes '  Work();' | head -n 58; printf '}\n'; } >"$tree/util/base/long.cc"
}
expect_ok() { # what
  if ! output=$(bash "$check" "$tree" 2>&1); then
    printf 'FAILED: %s: expected no complaint, got:\n%s\n' "$1" "$output"
    failures=1
  fi
}
expect_complaint() { # what pattern
  local status=0
  output=$(bash "$check" "$tree" 2>&1) || status=$?
  if [ "$status" -ne 1 ] || ! grep -Eq -- "$2" <<<"$output"; then
    printf 'FAILED: %s: expected a complaint that matches "%s", got status %d:\n%s\n' "$1" "$2" "$status" "$output"
    failures=1
  fi
  fresh_tree
}

fresh_tree
expect_ok "a tree in order"

printf 'int sepal_used(void);\nint sepal_unused(void);\n' | sed '1i #pragma once' >"$tree/include/sepal/c.h"
printf 'int main(void) { return sepal_used(); }\n' >"$tree/tests/db/c/c_test.c"
expect_complaint "a function of the C interface without a test" 'include/sepal/c.h: interface: .*sepal_unused$'
with_options() { # a field of Options, and what C has
  printf '#pragma once\nstruct Options {\n  // Bytes.\n  uint64_t %s = 0;\n};\n' "$1" >"$tree/include/sepal/options.h"
  printf '#pragma once\n/* %s */\nvoid %s(int value);\n' "$1" "$2" >"$tree/include/sepal/c.h"
  printf 'int main(void) { return %s(1); }\n' "$2" >"$tree/tests/db/c/c_test.c"
}
with_options thread_count sepal_options_thread_count
expect_complaint "an option that C cannot set" 'include/sepal/c.h: interface: nothing there is for set_thread_count$'
with_options thread_count sepal_options_set_thread_count
printf '#pragma once\nclass DB {\n public:\n  virtual int Merge(int a) = 0;\n};\n' >"$tree/include/sepal/db.h"
expect_complaint "a method that C lacks" 'include/sepal/c.h: interface: nothing there is for Merge$'
with_options thread_count sepal_options_set_thread_count
expect_ok "an option that C can set"
with_options block_bytes sepal_options_set_block_size
printf 'set_block_bytes set_block_size\n' >"$tree/tools/c_names.txt"
expect_ok "an option by another name"
fresh_tree
printf '#include "db/engine/face/engine.h"\n' >"$tree/table/key/climb.cc"
expect_complaint "an include that climbs" 'table/key/climb.cc: include: line 1'
printf '#include "table/key/good.h"\n' >"$tree/include/sepal/climb.cc"
expect_complaint "a public header that looks inside" 'include/sepal/climb.cc: include'
printf '#include "good.h"\n' >"$tree/table/key/sibling.cc"
expect_complaint "an include without its path" 'table/key/sibling.cc: include'
printf 'int x();\n' >"$tree/util/base/bare.h"
expect_complaint "a header without pragma once" 'util/base/bare.h: include: .*pragma once'
yes '// line' | head -n 501 >"$tree/util/base/huge.cc"
expect_complaint "a file over 500 lines" 'util/base/huge.cc: file: 501 lines'
mkdir -p "$tree/tests/util" && yes '// line' | head -n 501 >"$tree/tests/util/huge.cc"
expect_ok "a test of as many lines"
{ printf 'template <class T>\nint Long(\n    int a) {\n'; yes '  Work();' | head -n 57; printf '}\n'; } >"$tree/util/base/f.cc"
expect_complaint "a function over 60 lines" 'util/base/f.cc: function: line 1: 61 lines'
{ printf 'class Long {\n'; yes '  int Work();' | head -n 301; printf '};\n'; } >"$tree/util/base/c.cc"
expect_complaint "a class body over 300 lines" 'util/base/c.cc: class: line 1: 301 lines'
printf '#include "table/file/high.h"\n' >"$tree/table/key/climb.cc"
expect_complaint "an include that climbs from room to room" 'table/key/climb.cc: include: line 1'
printf '#include "sim/clock.h"\n' >"$tree/db/engine/face/simulated.cc"
expect_complaint "a product file that includes the simulation" 'db/engine/face/simulated.cc: include: line 1'
mkdir -p "$tree/util/attic" && echo "int x;" >"$tree/util/attic/a.cc"
expect_complaint "a room that has no place in the order" 'util/attic/a.cc: include: the order of rooms'
{ printf 'int Decl(\n    int a);\nnamespace a {\n'; yes '  Work();' | head -n 100; printf '}\n'; } >"$tree/util/base/ok.cc"
expect_ok "a long namespace is no function"
fresh_tree
for primitive in 'std::mutex m;' 'std::thread t(f);' 'std::condition_variable c;' 'absl::Mutex m;' \
  'std::lock_guard<M> l(m);' 'std::atomic_thread_fence(std::memory_order_seq_cst);'; do
  printf '%s\n' "$primitive" >"$tree/db/engine/face/p.cc"
  expect_complaint "$primitive" 'db/engine/face/p.cc: primitive'
done
printf '// std::mutex is forbidden here\nconst char* k = "std::mutex";\n' >"$tree/util/base/comment.cc"
printf 'std::mutex m;\n' >"$tree/util/thread/sync.h"
printf '#pragma once\n' >>"$tree/util/thread/sync.h"
expect_ok "words in comments and strings, and the room of the primitives itself"
fresh_tree
for comparison in 'bool f(K k) { return k == ValueKind::kPut; }' 'bool f(K k) { return ValueKind::kPut != k; }' \
  '    case ValueKind::kDelete:' 'bool f(K k) { return IsTombstone(k); }'; do
  printf '%s\n' "$comparison" >"$tree/db/engine/face/k.cc"
  expect_complaint "$comparison" 'db/engine/face/k.cc: kind: line 1'
  for path in db/decide/visibility/visibility.cc db/format/batch_format.cc; do printf '%s\n' "$comparison" >"$tree/$path"; done
  expect_ok "kinds compared where they may be: $comparison"
  fresh_tree
done
printf 'K k = ValueKind::kPut;\nint g(K k = ValueKind::kPut);\n' >"$tree/db/engine/face/k.cc"
expect_ok "kinds that are set and passed"
fresh_tree
printf 'add_compile_options(-march=native)\n' >"$tree/CMakeLists.txt"
expect_complaint "-march=native" 'CMakeLists.txt: primitive'
rm -f "$tree/CMakeLists.txt"
printf 'std::mutex m;\n' >"$tree/util/base/p.cc"
printf 'primitive util/base/p.cc measured\n' >"$tree/tools/house_exceptions.txt"
expect_ok "an exception with a reason"
printf 'primitive util/base/p.cc\n' >"$tree/tools/house_exceptions.txt"
expect_complaint "an exception without a reason" 'no reason'
for i in 1 2 3 4 5 6; do
  : >"$tree/util/base/e$i.cc"
  printf 'file util/base/e%d.cc reason\n' "$i" >>"$tree/tools/house_exceptions.txt"
done
expect_complaint "six exceptions" 'at most 5'

if [ "$failures" -eq 0 ]; then echo "house_check_test: all as expected"; fi
exit "$failures"
