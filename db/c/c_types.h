// The objects of the C interface.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sepal/c.h"
#include "sepal/db.h"
#include "sepal/key_filter.h"
#include "sepal/perf_context.h"
#include "sepal/repair.h"
#include "util/base/c_values.h"
#include "util/base/unix_time.h"

struct sepal_t {
  std::unique_ptr<sepal::DB> rep;
};
struct sepal_env_t {
  sepal::Env rep;
  // All file systems that were ever set: databases may still use one that `rep` no longer has.
  std::vector<std::unique_ptr<sepal::FileSystem>> file_systems;
  std::vector<std::unique_ptr<sepal::Clock>> clocks;
  std::vector<std::unique_ptr<sepal::Executor>> executors;
};
struct sepal_explanation_t {
  sepal::GetExplanation rep;
};
struct sepal_repair_report_t {
  sepal::RepairReport rep;
};
struct sepal_column_family_t {
  std::shared_ptr<sepal::ColumnFamily> rep;
};
struct sepal_filterpolicy_t {
  sepal::FilterPolicy rep;
};
struct sepal_iterator_t {
  std::unique_ptr<sepal::Iterator> rep;
};
struct sepal_options_t {
  sepal::Options rep;  // without the env
  const sepal_env_t* env = nullptr;

  // Returns the options with the env's current contents.
  sepal::Options Resolved() const {
    sepal::Options options = rep;
    if (env != nullptr) options.env = env->rep;
    return options;
  }
};
struct sepal_perfcontext_t {
  sepal::PerfContext rep;
};
struct sepal_pinned_value_t {
  sepal::PinnedValue rep;
};
struct sepal_snapshot_t {
  std::shared_ptr<const sepal::Snapshot> rep;
};
struct sepal_writebatch_t {
  sepal::WriteBatch rep;
};
struct sepal_writeoptions_t {
  sepal::WriteOptions rep;
};
struct sepal_readoptions_t {
  sepal::ReadOptions rep;
  std::unique_ptr<const sepal::KeyFilter> key_filter;
};
struct sepal_comparator_t final : sepal::Comparator {
  ~sepal_comparator_t() override {
    if (destructor != nullptr) destructor(state);
  }
  int Compare(std::string_view a, std::string_view b) const override {
    return compare(state, a.data(), a.size(), b.data(), b.size());
  }
  std::string_view Name() const override { return name(state); }
  bool EqualMeansIdentical() const override { return equal_means_identical; }

  void* state = nullptr;
  void (*destructor)(void*) = nullptr;
  int (*compare)(void*, const char*, size_t, const char*, size_t) = nullptr;
  const char* (*name)(void*) = nullptr;
  bool equal_means_identical = false;
};
struct sepal_mergeoperator_t {
  std::shared_ptr<const sepal::MergeOperator> rep;
};

namespace sepal {

// Null: the default family.
inline const ColumnFamily& FamilyOf(const sepal_t* db, const sepal_column_family_t* family) {
  return family == nullptr ? db->rep->DefaultColumnFamily() : *family->rep;
}

// `call` with the family, or without one for the default.
template <class Call>
auto OnFamily(sepal_column_family_t* family, Call call) {
  return family == nullptr ? call() : call(*family->rep);
}

// Null for an absent key and after an error.
inline char* TakeValue(const absl::StatusOr<std::string>& value, size_t* vallen, char** errptr) {
  *vallen = 0;
  if (absl::IsNotFound(value.status()) || SaveError(errptr, value.status())) return nullptr;
  *vallen = value->size();
  return NewCopy(*value);
}

// For objects that have the calls of a transaction.
template <class Rep>
void PutWith(Rep* rep, sepal_column_family_t* family, std::string_view key, std::string_view value,
             const PutOptions& options, char** errptr) {
  SaveError(errptr, OnFamily(family, [&](auto&... on) { return rep->Put(on..., key, value, options); }));
}

template <class Rep>
void MultiGetFrom(Rep* rep, const sepal_readoptions_t* options, sepal_column_family_t* family, size_t num_keys,
                  const char* const* keys, const size_t* keylens, char** values, size_t* vallens, char** errs) {
  std::vector<std::string_view> views;
  for (size_t i = 0; i < num_keys; ++i) views.push_back(BytesOf(keys[i], keylens[i]));
  const std::vector<absl::StatusOr<std::string>> found =
      OnFamily(family, [&](auto&... on) { return rep->MultiGet(on..., views, options->rep); });
  for (size_t i = 0; i < num_keys; ++i) {
    errs[i] = nullptr;
    values[i] = TakeValue(found[i], &vallens[i], &errs[i]);
  }
}

}  // namespace sepal
