// LevelDB's C interface: options, and what they name.
#include <vector>

#include "compat/leveldb/c_types.h"

using leveldb::Slice;
using sepal::compat::NewCopy;

namespace {

class CallingComparator final : public leveldb::Comparator {
 public:
  using Compares = int (*)(void*, const char*, size_t, const char*, size_t);
  using Names = const char* (*)(void*);

  CallingComparator(void* state, void (*destructor)(void*), Compares compares, Names names)
      : state_(state), destructor_(destructor), compares_(compares), names_(names) {}
  ~CallingComparator() override { destructor_(state_); }

  int Compare(const Slice& a, const Slice& b) const override {
    return compares_(state_, a.data(), a.size(), b.data(), b.size());
  }
  const char* Name() const override { return names_(state_); }
  void FindShortestSeparator(std::string*, const Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}

 private:
  void* const state_;
  void (*const destructor_)(void*);
  const Compares compares_;
  const Names names_;
};

// Databases have filters of their own, and never call it.
class CallingFilterPolicy final : public leveldb::FilterPolicy {
 public:
  using Creates = char* (*)(void*, const char* const*, const size_t*, int, size_t*);
  using Matches = uint8_t (*)(void*, const char*, size_t, const char*, size_t);
  using Names = const char* (*)(void*);

  CallingFilterPolicy(void* state, void (*destructor)(void*), Creates creates, Matches matches, Names names)
      : state_(state), destructor_(destructor), creates_(creates), matches_(matches), names_(names) {}
  ~CallingFilterPolicy() override { destructor_(state_); }

  const char* Name() const override { return names_(state_); }
  void CreateFilter(const Slice* keys, int count, std::string* out) const override {
    std::vector<const char*> bytes;
    std::vector<size_t> sizes;
    for (int i = 0; i < count; ++i) {
      bytes.push_back(keys[i].data());
      sizes.push_back(keys[i].size());
    }
    size_t size = 0;
    char* const filter = creates_(state_, bytes.data(), sizes.data(), count, &size);
    out->append(filter, size);
    std::free(filter);
  }
  bool KeyMayMatch(const Slice& key, const Slice& filter) const override {
    return matches_(state_, key.data(), key.size(), filter.data(), filter.size()) != 0;
  }

 private:
  void* const state_;
  void (*const destructor_)(void*);
  const Creates creates_;
  const Matches matches_;
  const Names names_;
};

}  // namespace

extern "C" {

// --- of databases ---

leveldb_options_t* leveldb_options_create() { return new leveldb_options_t; }
void leveldb_options_destroy(leveldb_options_t* options) { delete options; }
void leveldb_options_set_comparator(leveldb_options_t* options, leveldb_comparator_t* comparator) {
  options->rep.comparator = comparator->rep.get();
}
void leveldb_options_set_filter_policy(leveldb_options_t* options, leveldb_filterpolicy_t* policy) {
  options->rep.filter_policy = policy == nullptr ? nullptr : policy->rep.get();
}
void leveldb_options_set_create_if_missing(leveldb_options_t* options, uint8_t value) {
  options->rep.create_if_missing = value != 0;
}
void leveldb_options_set_error_if_exists(leveldb_options_t* options, uint8_t value) {
  options->rep.error_if_exists = value != 0;
}
void leveldb_options_set_paranoid_checks(leveldb_options_t* options, uint8_t value) {
  options->rep.paranoid_checks = value != 0;
}
void leveldb_options_set_env(leveldb_options_t* options, leveldb_env_t* env) {
  options->rep.env = env == nullptr ? nullptr : env->rep;
}
void leveldb_options_set_info_log(leveldb_options_t* options, leveldb_logger_t* logger) {
  options->rep.info_log = logger == nullptr ? nullptr : logger->rep;
}
void leveldb_options_set_write_buffer_size(leveldb_options_t* options, size_t bytes) {
  options->rep.write_buffer_size = bytes;
}
void leveldb_options_set_max_open_files(leveldb_options_t* options, int files) { options->rep.max_open_files = files; }
void leveldb_options_set_cache(leveldb_options_t* options, leveldb_cache_t* cache) {
  options->rep.block_cache = cache == nullptr ? nullptr : cache->rep.get();
}
void leveldb_options_set_block_size(leveldb_options_t* options, size_t bytes) { options->rep.block_size = bytes; }
void leveldb_options_set_block_restart_interval(leveldb_options_t* options, int entries) {
  options->rep.block_restart_interval = entries;
}
void leveldb_options_set_max_file_size(leveldb_options_t* options, size_t bytes) { options->rep.max_file_size = bytes; }
void leveldb_options_set_compression(leveldb_options_t* options, int kind) {
  options->rep.compression = static_cast<leveldb::CompressionType>(kind);
}

// --- comparators, filter policies, caches ---

leveldb_comparator_t* leveldb_comparator_create(void* state, void (*destructor)(void*),
                                                int (*compare)(void*, const char* a, size_t alen, const char* b,
                                                               size_t blen),
                                                const char* (*name)(void*)) {
  return new leveldb_comparator_t{std::make_unique<CallingComparator>(state, destructor, compare, name)};
}
void leveldb_comparator_destroy(leveldb_comparator_t* comparator) { delete comparator; }

leveldb_filterpolicy_t* leveldb_filterpolicy_create(void* state, void (*destructor)(void*),
                                                    char* (*create_filter)(void*, const char* const* key_array,
                                                                           const size_t* key_length_array, int num_keys,
                                                                           size_t* filter_length),
                                                    uint8_t (*key_may_match)(void*, const char* key, size_t length,
                                                                             const char* filter, size_t filter_length),
                                                    const char* (*name)(void*)) {
  return new leveldb_filterpolicy_t{
      std::make_unique<CallingFilterPolicy>(state, destructor, create_filter, key_may_match, name)};
}
leveldb_filterpolicy_t* leveldb_filterpolicy_create_bloom(int bits_per_key) {
  return new leveldb_filterpolicy_t{
      std::unique_ptr<const leveldb::FilterPolicy>(leveldb::NewBloomFilterPolicy(bits_per_key))};
}
void leveldb_filterpolicy_destroy(leveldb_filterpolicy_t* policy) { delete policy; }

leveldb_cache_t* leveldb_cache_create_lru(size_t capacity) {
  return new leveldb_cache_t{std::unique_ptr<leveldb::Cache>(leveldb::NewLRUCache(capacity))};
}
void leveldb_cache_destroy(leveldb_cache_t* cache) { delete cache; }

// --- of reads and writes ---

leveldb_readoptions_t* leveldb_readoptions_create() { return new leveldb_readoptions_t; }
void leveldb_readoptions_destroy(leveldb_readoptions_t* options) { delete options; }
void leveldb_readoptions_set_verify_checksums(leveldb_readoptions_t* options, uint8_t value) {
  options->rep.verify_checksums = value != 0;
}
void leveldb_readoptions_set_fill_cache(leveldb_readoptions_t* options, uint8_t value) {
  options->rep.fill_cache = value != 0;
}
void leveldb_readoptions_set_snapshot(leveldb_readoptions_t* options, const leveldb_snapshot_t* snapshot) {
  options->rep.snapshot = snapshot == nullptr ? nullptr : snapshot->rep;
}
leveldb_writeoptions_t* leveldb_writeoptions_create() { return new leveldb_writeoptions_t; }
void leveldb_writeoptions_destroy(leveldb_writeoptions_t* options) { delete options; }
void leveldb_writeoptions_set_sync(leveldb_writeoptions_t* options, uint8_t value) { options->rep.sync = value != 0; }

// --- the environment ---

leveldb_env_t* leveldb_create_default_env() { return new leveldb_env_t{leveldb::Env::Default()}; }
void leveldb_env_destroy(leveldb_env_t* env) { delete env; }
char* leveldb_env_get_test_directory(leveldb_env_t* env) {
  std::string path;
  return env->rep->GetTestDirectory(&path).ok() ? NewCopy(path) : nullptr;
}

void leveldb_free(void* memory) { std::free(memory); }
int leveldb_major_version() { return leveldb::kMajorVersion; }
int leveldb_minor_version() { return leveldb::kMinorVersion; }

}  // extern "C"
