// Filters and sketches: sets of keys in a few bits each, whose answer "absent" is certain, and counts in fixed memory.
// No database is needed: the CMake target `sepal::filter` and the pkg-config module `sepal-filter` have these alone.
//
// | header                     | what it has                                                                     |
// |----------------------------|---------------------------------------------------------------------------------|
// | filter/bloom.h             | Bloom filters: classic, blocked by cache lines, partitioned                       |
// | filter/counting_bloom.h    | the same with removal                                                             |
// | filter/ageing.h            | for endless streams: random eviction, two generations                             |
// | filter/scalable_bloom.h    | for a number of keys that is not known                                            |
// | filter/fingerprint_table.h | removal at one cache miss or two                                                  |
// | filter/static_filter.h     | the fewest bits for a set that does not change                                    |
// | filter/sketches.h          | how often (count-min), how many different (HyperLogLog)                           |
// | filter/any_filter.h        | files of any kind                                                                 |
//
// docs/guide/filters.md helps to choose, and docs/reference/filter-format.md describes the files.
#pragma once

#include "sepal/filter/ageing.h"
#include "sepal/filter/any_filter.h"
#include "sepal/filter/bloom.h"
#include "sepal/filter/counting_bloom.h"
#include "sepal/filter/fingerprint_table.h"
#include "sepal/filter/scalable_bloom.h"
#include "sepal/filter/sketches.h"
#include "sepal/filter/static_filter.h"
