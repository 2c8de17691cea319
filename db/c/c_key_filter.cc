// The C interface of filters beside a database.
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "db/c/c_types.h"
#include "filters/c_filter.h"
#include "sepal/key_filter.h"

namespace {

using sepal::BytesOf;
using sepal::FamilyOf;
using sepal::SaveError;
using sepal::filters::BloomLayout;
using sepal::filters::CheckedLayout;
using sepal::filters::NewFilter;
using sepal::filters::ValueOr;

// Null for a sketch.
struct KeyFilterMaker {
  template <class Filter>
  std::unique_ptr<const sepal::KeyFilter> operator()(const Filter& filter) const {
    if constexpr (requires { filter.MayContain(std::string_view()); }) {
      return std::make_unique<sepal::KeyFilterOf<Filter>>(filter);
    } else {
      return nullptr;
    }
  }
};

}  // namespace

extern "C" {

sepal_filter_t* sepal_export_filter(sepal_t* db, const sepal_readoptions_t* options, sepal_column_family_t* family,
                                    int kind, double rate, uint64_t seed, char** errptr) {
  const absl::StatusOr<BloomLayout> layout = CheckedLayout(kind);
  if (SaveError(errptr, layout.status())) return nullptr;
  return NewFilter(db->rep->ExportFilter(FamilyOf(db, family),
                                         {.false_positive_rate = rate, .layout = *layout, .seed = seed}, options->rep),
                   errptr);
}

double sepal_approximate_distinct(sepal_t* db, sepal_column_family_t* family, const char* start_key,
                                  size_t start_key_len, const char* limit_key, size_t limit_key_len, char** errptr) {
  std::optional<sepal::Range> range;
  if ((start_key == nullptr) != (limit_key == nullptr)) {
    SaveError(errptr, absl::InvalidArgumentError("a range needs a start_key and a limit_key, or neither"));
    return 0;
  }
  if (start_key != nullptr) {
    range = {.begin = BytesOf(start_key, start_key_len), .end = BytesOf(limit_key, limit_key_len)};
  }
  return ValueOr(db->rep->ApproximateDistinct(FamilyOf(db, family), range), errptr);
}

void sepal_readoptions_set_key_filter(sepal_readoptions_t* options, const sepal_filter_t* filter, char** errptr) {
  std::unique_ptr<const sepal::KeyFilter> key_filter;
  if (filter != nullptr) {
    key_filter = std::visit(KeyFilterMaker(), filter->rep);
    if (key_filter == nullptr) {
      SaveError(errptr, absl::InvalidArgumentError(
                            absl::StrFormat("a filter of kind %s knows no keys, so that no read can ask it",
                                            sepal::filters::NameOf(sepal::filters::Describe(filter->rep).kind))));
      return;
    }
  }
  options->key_filter = std::move(key_filter);
  options->rep.key_filter = options->key_filter.get();
}

}  // extern "C"
