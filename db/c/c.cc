// The C interface (include/sepal/c.h) over the C++ one.
#include "sepal/c.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "db/c/c_types.h"
#include "sepal/repair.h"
#include "sepal/version.h"
#include "util/base/check.h"

namespace {

using sepal::BytesOf;
using sepal::FamilyOf;
using sepal::NewCopy;
using sepal::OptionalBytes;
using sepal::SaveError;

static_assert(sepal::kMaxKeyBytes == SEPAL_MAX_KEY_BYTES && sepal::kMaxValueBytes == SEPAL_MAX_VALUE_BYTES);
static_assert(sepal::kMaxLevels == SEPAL_MAX_LEVELS);
static_assert(sepal::kTableFormatVersion == SEPAL_TABLE_FORMAT_VERSION &&
              sepal::kLogFormatVersion == SEPAL_LOG_FORMAT_VERSION &&
              sepal::kManifestFormatVersion == SEPAL_MANIFEST_FORMAT_VERSION);

// A missing key is no error.
char* TakeValue(absl::Status status, const sepal::PinnedValue& value, size_t* vallen, char** errptr) {
  *vallen = 0;
  if (absl::IsNotFound(status) || SaveError(errptr, status)) return nullptr;
  *vallen = value.value().size();
  return NewCopy(value.value());
}

// Makes a list for sepal_list_column_families_destroy.
char** NewList(const std::vector<std::string>& names, size_t* length) {
  char** list = static_cast<char**>(std::malloc(names.size() * sizeof(char*)));
  SEPAL_CHECK(list != nullptr || names.empty());
  *length = 0;
  for (const std::string& name : names) list[(*length)++] = NewCopy(name);
  return list;
}

char* CopyOrNull(const std::optional<std::string>& text) { return text.has_value() ? NewCopy(*text) : nullptr; }

// A null key: from the first, or to the last.
sepal::CompactRangeOptions RangeOf(const char* start_key, size_t start_key_len, const char* limit_key,
                                   size_t limit_key_len) {
  sepal::CompactRangeOptions options;
  if (start_key != nullptr) options.begin = BytesOf(start_key, start_key_len);
  if (limit_key != nullptr) options.end = BytesOf(limit_key, limit_key_len);
  return options;
}

}  // namespace

extern "C" {

// --- the database ---

sepal_t* sepal_open(const sepal_options_t* options, const char* name, char** errptr) {
  absl::StatusOr<std::unique_ptr<sepal::DB>> db = sepal::DB::Open(options->Resolved(), name);
  if (SaveError(errptr, db.status())) return nullptr;
  return new sepal_t{std::move(db).value()};
}

void sepal_close(sepal_t* db) { delete db; }

void sepal_close_with_error(sepal_t* db, char** errptr) {
  SaveError(errptr, db->rep->Close());
  delete db;
}

void sepal_destroy_db(const sepal_options_t* options, const char* name, char** errptr) {
  SaveError(errptr, sepal::DB::Destroy(options->Resolved(), name));
}

void sepal_put(sepal_t* db, const sepal_writeoptions_t* options, const char* key, size_t keylen, const char* val,
               size_t vallen, char** errptr) {
  sepal_put_cf(db, options, nullptr, key, keylen, val, vallen, errptr);
}

void sepal_put_cf(sepal_t* db, const sepal_writeoptions_t* options, sepal_column_family_t* family, const char* key,
                  size_t keylen, const char* val, size_t vallen, char** errptr) {
  SaveError(errptr, db->rep->Put(FamilyOf(db, family), BytesOf(key, keylen), BytesOf(val, vallen), options->rep));
}

void sepal_delete(sepal_t* db, const sepal_writeoptions_t* options, const char* key, size_t keylen, char** errptr) {
  sepal_delete_cf(db, options, nullptr, key, keylen, errptr);
}

void sepal_delete_cf(sepal_t* db, const sepal_writeoptions_t* options, sepal_column_family_t* family, const char* key,
                     size_t keylen, char** errptr) {
  SaveError(errptr, db->rep->Delete(FamilyOf(db, family), BytesOf(key, keylen), options->rep));
}

void sepal_singledelete(sepal_t* db, const sepal_writeoptions_t* options, const char* key, size_t keylen,
                        char** errptr) {
  sepal_singledelete_cf(db, options, nullptr, key, keylen, errptr);
}

void sepal_singledelete_cf(sepal_t* db, const sepal_writeoptions_t* options, sepal_column_family_t* family,
                           const char* key, size_t keylen, char** errptr) {
  SaveError(errptr, db->rep->SingleDelete(FamilyOf(db, family), BytesOf(key, keylen), options->rep));
}

void sepal_merge(sepal_t* db, const sepal_writeoptions_t* options, const char* key, size_t keylen, const char* operand,
                 size_t operandlen, char** errptr) {
  sepal_merge_cf(db, options, nullptr, key, keylen, operand, operandlen, errptr);
}

void sepal_merge_cf(sepal_t* db, const sepal_writeoptions_t* options, sepal_column_family_t* family, const char* key,
                    size_t keylen, const char* operand, size_t operandlen, char** errptr) {
  SaveError(errptr,
            db->rep->Merge(FamilyOf(db, family), BytesOf(key, keylen), BytesOf(operand, operandlen), options->rep));
}

void sepal_delete_range(sepal_t* db, const sepal_writeoptions_t* options, const char* begin, size_t beginlen,
                        const char* end, size_t endlen, char** errptr) {
  sepal_delete_range_cf(db, options, nullptr, begin, beginlen, end, endlen, errptr);
}

void sepal_delete_range_cf(sepal_t* db, const sepal_writeoptions_t* options, sepal_column_family_t* family,
                           const char* begin, size_t beginlen, const char* end, size_t endlen, char** errptr) {
  SaveError(errptr, db->rep->DeleteRange(FamilyOf(db, family), BytesOf(begin, beginlen), OptionalBytes(end, endlen),
                                         options->rep));
}

void sepal_write(sepal_t* db, const sepal_writeoptions_t* options, sepal_writebatch_t* batch, char** errptr) {
  SaveError(errptr, db->rep->Write(batch->rep, options->rep));
}

char* sepal_get(sepal_t* db, const sepal_readoptions_t* options, const char* key, size_t keylen, size_t* vallen,
                char** errptr) {
  return sepal_get_cf(db, options, nullptr, key, keylen, vallen, errptr);
}

char* sepal_get_cf(sepal_t* db, const sepal_readoptions_t* options, sepal_column_family_t* family, const char* key,
                   size_t keylen, size_t* vallen, char** errptr) {
  sepal::PinnedValue value;
  const absl::Status status = db->rep->Get(FamilyOf(db, family), BytesOf(key, keylen), value, options->rep);
  return TakeValue(status, value, vallen, errptr);
}

sepal_pinned_value_t* sepal_get_pinned(sepal_t* db, const sepal_readoptions_t* options, sepal_column_family_t* family,
                                       const char* key, size_t keylen, char** errptr) {
  auto value = std::make_unique<sepal_pinned_value_t>();
  const absl::Status status = db->rep->Get(FamilyOf(db, family), BytesOf(key, keylen), value->rep, options->rep);
  if (absl::IsNotFound(status) || SaveError(errptr, status)) return nullptr;
  return value.release();
}

const char* sepal_pinned_value(const sepal_pinned_value_t* value, size_t* vallen) {
  *vallen = value->rep.value().size();
  return value->rep.value().data();
}

void sepal_pinned_value_destroy(sepal_pinned_value_t* value) { delete value; }

void sepal_multi_get(sepal_t* db, const sepal_readoptions_t* options, sepal_column_family_t* family, size_t num_keys,
                     const char* const* keys, const size_t* keylens, char** values, size_t* vallens, char** errs) {
  std::vector<std::string_view> views(num_keys);
  for (size_t i = 0; i < num_keys; ++i) views[i] = BytesOf(keys[i], keylens[i]);
  std::vector<sepal::PinnedValue> pinned(num_keys);
  std::vector<absl::Status> statuses(num_keys);
  db->rep->MultiGet(FamilyOf(db, family), views, pinned, statuses, options->rep).IgnoreError();  // `statuses` has it
  for (size_t i = 0; i < num_keys; ++i) {
    errs[i] = nullptr;
    values[i] = TakeValue(statuses[i], pinned[i], &vallens[i], &errs[i]);
  }
}

unsigned char sepal_key_may_exist(sepal_t* db, const sepal_readoptions_t* options, sepal_column_family_t* family,
                                  const char* key, size_t keylen) {
  return db->rep->KeyMayExist(FamilyOf(db, family), BytesOf(key, keylen), options->rep);
}

sepal_iterator_t* sepal_create_iterator(sepal_t* db, const sepal_readoptions_t* options) {
  return sepal_create_iterator_cf(db, options, nullptr);
}

sepal_iterator_t* sepal_create_iterator_cf(sepal_t* db, const sepal_readoptions_t* options,
                                           sepal_column_family_t* family) {
  return new sepal_iterator_t{db->rep->NewIterator(FamilyOf(db, family), options->rep)};
}

const sepal_snapshot_t* sepal_create_snapshot(sepal_t* db) { return new sepal_snapshot_t{db->rep->GetSnapshot()}; }
void sepal_release_snapshot(sepal_t*, const sepal_snapshot_t* snapshot) { delete snapshot; }
uint64_t sepal_snapshot_sequence(const sepal_snapshot_t* snapshot) { return snapshot->rep->sequence(); }

char* sepal_property_value(sepal_t* db, const char* propname) { return sepal_property_value_cf(db, nullptr, propname); }

char* sepal_property_value_cf(sepal_t* db, sepal_column_family_t* family, const char* propname) {
  return CopyOrNull(db->rep->GetProperty(FamilyOf(db, family), propname));
}

void sepal_approximate_sizes(sepal_t* db, sepal_column_family_t* family, int num_ranges,
                             const char* const* range_start_key, const size_t* range_start_key_len,
                             const char* const* range_limit_key, const size_t* range_limit_key_len, uint64_t* sizes,
                             char** errptr) {
  std::vector<sepal::Range> ranges;
  for (int i = 0; i < num_ranges; ++i) {
    ranges.push_back({.begin = BytesOf(range_start_key[i], range_start_key_len[i]),
                      .end = BytesOf(range_limit_key[i], range_limit_key_len[i])});
  }
  const absl::StatusOr<std::vector<uint64_t>> found = db->rep->GetApproximateSizes(FamilyOf(db, family), ranges);
  if (!SaveError(errptr, found.status())) std::copy(found->begin(), found->end(), sizes);
}

void sepal_compact_range(sepal_t* db, const char* start_key, size_t start_key_len, const char* limit_key,
                         size_t limit_key_len, char** errptr) {
  sepal_compact_range_cf(db, nullptr, start_key, start_key_len, limit_key, limit_key_len, errptr);
}

void sepal_compact_range_cf(sepal_t* db, sepal_column_family_t* family, const char* start_key, size_t start_key_len,
                            const char* limit_key, size_t limit_key_len, char** errptr) {
  sepal_compact_range_with_progress(db, family, start_key, start_key_len, limit_key, limit_key_len, nullptr, nullptr,
                                    errptr);
}

void sepal_compact_range_with_progress(sepal_t* db, sepal_column_family_t* family, const char* start_key,
                                       size_t start_key_len, const char* limit_key, size_t limit_key_len, void* state,
                                       unsigned char (*progress)(void*, uint64_t, uint64_t, double), char** errptr) {
  sepal::CompactRangeOptions options = RangeOf(start_key, start_key_len, limit_key, limit_key_len);
  if (progress != nullptr) {
    options.progress = [state, progress](const sepal::CompactionProgress& p) {
      return progress(state, p.bytes_done, p.bytes_total, p.seconds_left) != 0;
    };
  }
  SaveError(errptr, db->rep->CompactRange(FamilyOf(db, family), options));
}

void sepal_compact_range_covered_only(sepal_t* db, sepal_column_family_t* family, const char* start_key,
                                      size_t start_key_len, const char* limit_key, size_t limit_key_len,
                                      char** errptr) {
  sepal::CompactRangeOptions options = RangeOf(start_key, start_key_len, limit_key, limit_key_len);
  options.covered_only = true;
  SaveError(errptr, db->rep->CompactRange(FamilyOf(db, family), options));
}

void sepal_pause_background_work(sepal_t* db, char** errptr) { SaveError(errptr, db->rep->PauseBackgroundWork()); }
void sepal_continue_background_work(sepal_t* db, char** errptr) {
  SaveError(errptr, db->rep->ContinueBackgroundWork());
}

void sepal_accept_clock(sepal_t* db, char** errptr) { SaveError(errptr, db->rep->AcceptClock()); }

void sepal_flush(sepal_t* db, sepal_column_family_t* family, unsigned char wait, char** errptr) {
  SaveError(errptr, db->rep->Flush(FamilyOf(db, family), {.wait = wait != 0}));
}

void sepal_sync(sepal_t* db, char** errptr) { SaveError(errptr, db->rep->Sync()); }
void sepal_wait_for_background_work(sepal_t* db, char** errptr) { SaveError(errptr, db->rep->WaitForBackgroundWork()); }
void sepal_catch_up(sepal_t* db, char** errptr) { SaveError(errptr, db->rep->CatchUp()); }
void sepal_checkpoint(sepal_t* db, const char* directory, char** errptr) {
  SaveError(errptr, db->rep->Checkpoint(directory));
}
void sepal_checkpoint_from(sepal_t* db, const char* directory, const char* base, unsigned char link_tables,
                           unsigned char verify, char** errptr) {
  sepal_checkpoint_with_progress(db, directory, base, link_tables, verify, nullptr, nullptr, errptr);
}
void sepal_checkpoint_with_progress(sepal_t* db, const char* directory, const char* base, unsigned char link_tables,
                                    unsigned char verify, void* state, void (*progress)(void*, uint64_t, uint64_t),
                                    char** errptr) {
  sepal::CheckpointOptions options = {
      .base = base == nullptr ? "" : base, .link_tables = link_tables != 0, .verify = verify != 0};
  if (progress != nullptr) {
    options.progress = [state, progress](uint64_t done, uint64_t total) { progress(state, done, total); };
  }
  SaveError(errptr, db->rep->Checkpoint(directory, options));
}
void sepal_check_consistency(sepal_t* db, char** errptr) { SaveError(errptr, db->rep->CheckConsistency()); }
void sepal_verify_checksums(sepal_t* db, char** errptr) { SaveError(errptr, db->rep->VerifyChecksums()); }
void sepal_verify_checksums_with_progress(sepal_t* db, void* state,
                                          unsigned char (*progress)(void*, uint64_t, uint64_t, uint64_t, uint64_t),
                                          void (*damage)(void*, const char*), char** errptr) {
  sepal::VerifyChecksumsOptions options;
  if (progress != nullptr) {
    options.progress = [state, progress](const sepal::VerifyProgress& at) {
      return progress(state, at.tables_done, at.tables, at.bytes_done, at.bytes) != 0;
    };
  }
  if (damage != nullptr) {
    options.on_damage = [state, damage](const absl::Status& status) { damage(state, status.ToString().c_str()); };
  }
  SaveError(errptr, db->rep->VerifyChecksums(options));
}

// --- column families ---

char** sepal_list_column_families(const sepal_options_t* options, const char* name, size_t* lencf, char** errptr) {
  *lencf = 0;
  const absl::StatusOr<std::vector<std::string>> names = sepal::DB::ListColumnFamilies(options->Resolved(), name);
  if (SaveError(errptr, names.status())) return nullptr;
  return NewList(*names, lencf);
}

char** sepal_column_family_names(sepal_t* db, size_t* lencf) { return NewList(db->rep->ColumnFamilyNames(), lencf); }

void sepal_list_column_families_destroy(char** list, size_t len) {
  for (size_t i = 0; i < len; ++i) std::free(list[i]);
  std::free(list);
}

sepal_column_family_t* sepal_create_column_family(sepal_t* db, const sepal_options_t* family_options, const char* name,
                                                  char** errptr) {
  absl::StatusOr<std::shared_ptr<sepal::ColumnFamily>> family = db->rep->CreateColumnFamily(
      name, family_options == nullptr ? sepal::ColumnFamilyOptions() : family_options->rep.family);
  return SaveError(errptr, family.status()) ? nullptr : new sepal_column_family_t{std::move(family).value()};
}

sepal_column_family_t* sepal_find_column_family(sepal_t* db, const char* name, char** errptr) {
  absl::StatusOr<std::shared_ptr<sepal::ColumnFamily>> family = db->rep->FindColumnFamily(name);
  return SaveError(errptr, family.status()) ? nullptr : new sepal_column_family_t{std::move(family).value()};
}

void sepal_drop_column_family(sepal_t* db, sepal_column_family_t* family, char** errptr) {
  SaveError(errptr, db->rep->DropColumnFamily(FamilyOf(db, family)));
}

const char* sepal_column_family_name(const sepal_column_family_t* family, size_t* namelen) {
  *namelen = family->rep->name().size();
  return family->rep->name().data();
}
uint32_t sepal_column_family_id(const sepal_column_family_t* family) { return family->rep->id(); }
void sepal_column_family_handle_destroy(sepal_column_family_t* family) { delete family; }

// --- iterators ---

void sepal_iter_destroy(sepal_iterator_t* iter) { delete iter; }
unsigned char sepal_iter_valid(const sepal_iterator_t* iter) { return iter->rep->Valid(); }
void sepal_iter_seek_to_first(sepal_iterator_t* iter) { iter->rep->SeekToFirst(); }
void sepal_iter_seek_to_last(sepal_iterator_t* iter) { iter->rep->SeekToLast(); }
void sepal_iter_seek(sepal_iterator_t* iter, const char* k, size_t klen) { iter->rep->Seek(BytesOf(k, klen)); }
void sepal_iter_seek_for_prev(sepal_iterator_t* iter, const char* k, size_t klen) {
  iter->rep->SeekForPrev(BytesOf(k, klen));
}
void sepal_iter_next(sepal_iterator_t* iter) { iter->rep->Next(); }
void sepal_iter_prev(sepal_iterator_t* iter) { iter->rep->Prev(); }

const char* sepal_iter_key(const sepal_iterator_t* iter, size_t* klen) {
  const std::string_view key = iter->rep->key();
  *klen = key.size();
  return key.data();
}

const char* sepal_iter_value(const sepal_iterator_t* iter, size_t* vlen) {
  const std::string_view value = iter->rep->value();
  *vlen = value.size();
  return value.data();
}

void sepal_iter_get_error(const sepal_iterator_t* iter, char** errptr) { SaveError(errptr, iter->rep->status()); }

// --- the rest ---

int sepal_major_version(void) { return sepal::kMajorVersion; }
int sepal_minor_version(void) { return sepal::kMinorVersion; }
int sepal_patch_version(void) { return sepal::kPatchVersion; }
const char* sepal_version_string(void) { return sepal::VersionString(); }

}  // extern "C"
