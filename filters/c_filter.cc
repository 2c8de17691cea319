// The C interface of filters.
#include "filters/c_filter.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "sepal/filter.h"

namespace {

using sepal::BytesOf;
using sepal::SaveError;
using sepal::filters::AgeingFilter;
using sepal::filters::AnyFilter;
using sepal::filters::BloomFilter;
using sepal::filters::BloomLayout;
using sepal::filters::BloomShape;
using sepal::filters::CheckedLayout;
using sepal::filters::CountingBloomFilter;
using sepal::filters::LayoutOf;
using sepal::filters::NewFilter;
using sepal::filters::StaticFilter;
using sepal::filters::TwoGenerationFilter;
using sepal::filters::ValueOr;

BloomShape ShapeOf(int kind, uint64_t bits, int probes) {
  return {.layout = LayoutOf(kind), .bits = bits, .probes = probes};
}

// Returns the Bloom filter; null, with an error, for other kinds.
template <class Filter, class Any>
Filter* As(Any* filter, char** errptr) {
  auto* const one = std::get_if<std::remove_const_t<Filter>>(&filter->rep);
  if (one == nullptr) SaveError(errptr, absl::InvalidArgumentError("the kind of filter has no such call"));
  return one;
}

std::vector<std::string_view> ViewsOf(size_t count, const char* const* keys, const size_t* keylens) {
  std::vector<std::string_view> views;
  views.reserve(count);
  for (size_t i = 0; i < count; ++i) views.push_back(BytesOf(keys[i], keylens[i]));
  return views;
}

}  // namespace

extern "C" {

sepal_filter_t* sepal_filter_create_bloom(int kind, uint64_t keys, double rate, uint64_t seed, char** errptr) {
  const absl::StatusOr<BloomLayout> layout = CheckedLayout(kind);
  if (SaveError(errptr, layout.status())) return nullptr;
  return NewFilter(BloomFilter::ForKeys(keys, rate, *layout, seed), errptr);
}

sepal_filter_t* sepal_filter_create_bloom_of_bits(int kind, uint64_t bits, int probes, uint64_t seed, char** errptr) {
  return NewFilter(BloomFilter::Create(ShapeOf(kind, bits, probes), seed), errptr);
}

uint64_t sepal_filter_bits_for(int kind, uint64_t keys, double rate, int* probes, char** errptr) {
  const absl::StatusOr<BloomLayout> layout = CheckedLayout(kind);
  if (SaveError(errptr, layout.status())) return 0;
  const BloomShape shape = ValueOr(BloomShape::For(keys, rate, *layout), errptr);
  if (probes != nullptr) *probes = shape.probes;
  return shape.bits;
}

double sepal_filter_rate_at(int kind, uint64_t bits, int probes, uint64_t keys) {
  return ShapeOf(kind, bits, probes).RateAt(keys);
}

uint64_t sepal_filter_keys_at(int kind, uint64_t bits, int probes, double rate) {
  return ShapeOf(kind, bits, probes).KeysAt(rate);
}

int sepal_filter_probes_of_bits(int kind, uint64_t keys, uint64_t bits, char** errptr) {
  const absl::StatusOr<BloomLayout> layout = CheckedLayout(kind);
  if (SaveError(errptr, layout.status())) return 0;
  return ValueOr(BloomShape::OfBits(keys, bits, *layout), errptr).probes;
}

sepal_filter_t* sepal_filter_create_counting(uint64_t keys, double rate, int counter_bits, uint64_t seed,
                                             char** errptr) {
  return NewFilter(CountingBloomFilter::ForKeys(keys, rate, counter_bits, seed), errptr);
}

sepal_filter_t* sepal_filter_create_ageing(uint64_t keys, double rate, uint64_t seed, char** errptr) {
  return NewFilter(AgeingFilter::ForKeys(keys, rate, seed), errptr);
}

sepal_filter_t* sepal_filter_create_two_generations(uint64_t keys, double rate, uint64_t seed, char** errptr) {
  return NewFilter(TwoGenerationFilter::ForKeys(keys, rate, seed), errptr);
}

sepal_filter_t* sepal_filter_create_scalable(uint64_t first_keys, double rate, uint64_t seed, char** errptr) {
  return NewFilter(sepal::filters::ScalableBloomFilter::Create(first_keys, rate, seed), errptr);
}

sepal_filter_t* sepal_filter_create_fingerprint_table(uint64_t keys, int fingerprint_bits, uint64_t seed,
                                                      char** errptr) {
  return NewFilter(sepal::filters::FingerprintTable::ForKeys(keys, fingerprint_bits, seed), errptr);
}

sepal_filter_t* sepal_filter_build_static(size_t num_keys, const char* const* keys, const size_t* keylens,
                                          int fingerprint_bits, uint64_t seed, char** errptr) {
  return NewFilter(StaticFilter::Build(ViewsOf(num_keys, keys, keylens), fingerprint_bits, seed), errptr);
}

sepal_filter_t* sepal_filter_build_from_hashes(size_t num_hashes, const uint64_t* hashes, int fingerprint_bits,
                                               uint64_t seed, char** errptr) {
  std::vector<uint64_t> copy;
  if (num_hashes > 0) copy.assign(hashes, hashes + num_hashes);
  return NewFilter(StaticFilter::BuildFromHashes(std::move(copy), fingerprint_bits, seed), errptr);
}

sepal_filter_t* sepal_filter_create_for_error(double error, double chance, uint64_t seed, char** errptr) {
  return NewFilter(sepal::filters::CountMinSketch::ForError(error, chance, seed), errptr);
}

sepal_filter_t* sepal_filter_create_hyperloglog(int precision, uint64_t seed, char** errptr) {
  return NewFilter(sepal::filters::HyperLogLog::Create(precision, seed), errptr);
}

sepal_filter_t* sepal_filter_parse_filter(const char* bytes, size_t size, const char* name, char** errptr) {
  return NewFilter(sepal::filters::ParseFilter(BytesOf(bytes, size), name), errptr);
}

void sepal_filter_destroy(sepal_filter_t* filter) { delete filter; }

char* sepal_filter_serialize(const sepal_filter_t* filter, size_t* size) {
  const std::string bytes = sepal::filters::Serialize(filter->rep);
  *size = bytes.size();
  return sepal::NewCopy(bytes);
}

sepal_filter_t* sepal_filter_to_bloom(const sepal_filter_t* filter, char** errptr) {
  const auto* const counting = As<const CountingBloomFilter>(filter, errptr);
  return counting == nullptr ? nullptr : NewFilter(counting->ToBloom(), errptr);
}

uint64_t sepal_filter_key_hash(const char* key, size_t keylen, uint64_t seed) {
  return sepal::filters::KeyHash(BytesOf(key, keylen), seed);
}

void sepal_filter_add(sepal_filter_t* filter, const char* key, size_t keylen, char** errptr) {
  SaveError(errptr, sepal::filters::Add(&filter->rep, BytesOf(key, keylen)));
}

void sepal_filter_add_hash(sepal_filter_t* filter, uint64_t hash, char** errptr) {
  auto* const bloom = As<BloomFilter>(filter, errptr);
  if (bloom != nullptr) bloom->AddHash(hash);
}

unsigned char sepal_filter_may_contain(const sepal_filter_t* filter, const char* key, size_t keylen, char** errptr) {
  return ValueOr(sepal::filters::MayContain(filter->rep, BytesOf(key, keylen)), errptr);
}

unsigned char sepal_filter_may_contain_hash(const sepal_filter_t* filter, uint64_t hash, char** errptr) {
  const auto* const bloom = As<const BloomFilter>(filter, errptr);
  return bloom != nullptr && bloom->MayContainHash(hash);
}

void sepal_filter_may_contain_many(const sepal_filter_t* filter, size_t num_keys, const char* const* keys,
                                   const size_t* keylens, unsigned char* maybe, char** errptr) {
  const std::vector<std::string_view> views = ViewsOf(num_keys, keys, keylens);
  if (const auto* const bloom = std::get_if<BloomFilter>(&filter->rep)) {
    const std::unique_ptr<bool[]> answers(new bool[num_keys]);
    bloom->MayContainMany(views, std::span(answers.get(), num_keys));
    for (size_t i = 0; i < num_keys; ++i) maybe[i] = answers[i];
    return;
  }
  for (size_t i = 0; i < num_keys; ++i) {
    const absl::StatusOr<bool> answer = sepal::filters::MayContain(filter->rep, views[i]);
    if (SaveError(errptr, answer.status())) return;
    maybe[i] = *answer;
  }
}

unsigned char sepal_filter_add_and_test(sepal_filter_t* filter, const char* key, size_t keylen, char** errptr) {
  return ValueOr(sepal::filters::AddAndTest(&filter->rep, BytesOf(key, keylen)), errptr);
}

void sepal_filter_age(sepal_filter_t* filter, double share, char** errptr) {
  if (auto* const generations = std::get_if<TwoGenerationFilter>(&filter->rep)) {
    generations->Age();
  } else if (auto* const ageing = As<AgeingFilter>(filter, errptr)) {
    ageing->Age(share);
  }
}

void sepal_filter_remove(sepal_filter_t* filter, const char* key, size_t keylen, char** errptr) {
  SaveError(errptr, sepal::filters::Remove(&filter->rep, BytesOf(key, keylen)));
}

uint64_t sepal_filter_estimate_count(const sepal_filter_t* filter, const char* key, size_t keylen, char** errptr) {
  return ValueOr(sepal::filters::EstimateCount(filter->rep, BytesOf(key, keylen)), errptr);
}

void sepal_filter_merge(sepal_filter_t* filter, const sepal_filter_t* other, char** errptr) {
  SaveError(errptr, sepal::filters::Merge(&filter->rep, other->rep));
}

void sepal_filter_intersect(sepal_filter_t* filter, const sepal_filter_t* other, char** errptr) {
  SaveError(errptr, sepal::filters::Intersect(&filter->rep, other->rep));
}

void sepal_filter_describe(const sepal_filter_t* filter, sepal_filter_info_t* info, size_t info_size) {
  const sepal::filters::FilterInfo whole = sepal::filters::Describe(filter->rep);
  const sepal_filter_info_t c = {.kind = static_cast<int>(whole.kind),
                                 .probes = whole.probes,
                                 .width = whole.width,
                                 .seed = whole.seed,
                                 .keys = whole.keys,
                                 .memory_bytes = whole.memory_bytes,
                                 .size = whole.size,
                                 .estimated_keys = whole.estimated_keys,
                                 .fill = whole.fill,
                                 .false_positive_rate = whole.false_positive_rate};
  sepal::ToCaller(c, info, info_size);
}

const char* sepal_filter_name_of(int kind) {
  const bool fits = kind >= 0 && kind <= UINT8_MAX;
  return sepal::filters::NameOf(static_cast<sepal::filters::FilterKind>(fits ? kind : 0)).data();
}

}  // extern "C"
