// The C interface of transactions and of writes with conditions.
#include "sepal/c_transaction.h"

#include <string>
#include <vector>

#include "db/c/c_types.h"
#include "sepal/transaction.h"
#include "sepal/write_conditions.h"

struct sepal_transaction_t {
  std::unique_ptr<sepal::Transaction> own;
  sepal::Transaction* rep;
};
struct sepal_prepared_list_t {
  std::vector<sepal::PreparedTransaction> rep;
};
struct sepal_writeconditions_t {
  sepal::WriteConditions rep;
};

namespace {

using sepal::BytesOf;
using sepal::FamilyOf;
using sepal::MultiGetFrom;
using sepal::OnFamily;
using sepal::OptionalBytes;
using sepal::PutWith;
using sepal::SaveError;
using sepal::TakeValue;

sepal_transaction_t* TakeTransaction(absl::StatusOr<std::unique_ptr<sepal::Transaction>> txn, char** errptr) {
  if (SaveError(errptr, txn.status())) return nullptr;
  sepal::Transaction* const rep = txn->get();
  return new sepal_transaction_t{*std::move(txn), rep};
}

unsigned char TakeAnswer(const absl::StatusOr<bool>& written, char** errptr) {
  if (SaveError(errptr, written.status())) return 0;
  return *written ? 1 : 0;
}

absl::StatusOr<sepal::TransactionOptions> OptionsOf(int isolation, int locking, uint64_t lock_timeout_millis) {
  if (isolation < sepal_isolation_snapshot || isolation > sepal_isolation_serializable)
    return absl::InvalidArgumentError("the isolation is none of enum sepal_isolation_...: 0 or 1");
  if (locking < sepal_locking_optimistic || locking > sepal_locking_pessimistic)
    return absl::InvalidArgumentError("the locking is none of enum sepal_locking_...: 0 or 1");
  constexpr uint64_t kMostMillis = uint64_t{1} << 40;
  return sepal::TransactionOptions{
      .isolation = static_cast<sepal::Isolation>(isolation),
      .locking = static_cast<sepal::Locking>(locking),
      .lock_timeout = std::chrono::milliseconds(std::min(lock_timeout_millis, kMostMillis))};
}

// The error that a callback has set; it begins with its code.
absl::Status StatusOf(char* error) {
  if (error == nullptr) return absl::OkStatus();
  const std::string text(error);
  sepal_free(error);
  return text.starts_with("ABORTED") ? absl::AbortedError(text) : absl::UnknownError(text);
}

}  // namespace

extern "C" {

sepal_transaction_t* sepal_begin_transaction(sepal_t* db, int isolation, int locking, uint64_t lock_timeout_millis,
                                             char** errptr) {
  const absl::StatusOr<sepal::TransactionOptions> options = OptionsOf(isolation, locking, lock_timeout_millis);
  if (SaveError(errptr, options.status())) return nullptr;
  return TakeTransaction(db->rep->BeginTransaction(*options), errptr);
}

void sepal_transaction_prepare(sepal_transaction_t* txn, const char* name, size_t namelen, char** errptr) {
  SaveError(errptr, txn->rep->Prepare(BytesOf(name, namelen)));
}

sepal_transaction_t* sepal_find_prepared(sepal_t* db, const char* name, size_t namelen, char** errptr) {
  return TakeTransaction(db->rep->FindPrepared(BytesOf(name, namelen)), errptr);
}

sepal_prepared_list_t* sepal_prepared_transactions(sepal_t* db, char** errptr) {
  absl::StatusOr<std::vector<sepal::PreparedTransaction>> all = db->rep->PreparedTransactions();
  if (SaveError(errptr, all.status())) return nullptr;
  return new sepal_prepared_list_t{*std::move(all)};
}

void sepal_prepared_list_destroy(sepal_prepared_list_t* list) { delete list; }

size_t sepal_prepared_list_count(const sepal_prepared_list_t* list) { return list->rep.size(); }

const char* sepal_prepared_list_name(const sepal_prepared_list_t* list, size_t index, size_t* namelen) {
  const std::string& name = list->rep[index].name;
  *namelen = name.size();
  return name.c_str();
}

uint64_t sepal_prepared_list_prepared(const sepal_prepared_list_t* list, size_t index) {
  return sepal::MillisOf(list->rep[index].prepared);
}

uint32_t sepal_prepared_list_updates(const sepal_prepared_list_t* list, size_t index) {
  return list->rep[index].updates;
}

uint64_t sepal_prepared_list_bytes(const sepal_prepared_list_t* list, size_t index) { return list->rep[index].bytes; }

uint64_t sepal_prepared_list_locks(const sepal_prepared_list_t* list, size_t index) { return list->rep[index].locks; }

void sepal_transaction_destroy(sepal_transaction_t* txn) { delete txn; }

void sepal_run_transaction(sepal_t* db, int isolation, int locking, uint64_t lock_timeout_millis,
                           void (*body)(void* state, sepal_transaction_t* txn, char** errptr), void* state,
                           const sepal_writeoptions_t* options, char** errptr) {
  const absl::StatusOr<sepal::TransactionOptions> begin = OptionsOf(isolation, locking, lock_timeout_millis);
  if (SaveError(errptr, begin.status())) return;
  std::string said;  // the body's error text, if its code is unknown here
  const absl::Status status = db->rep->RunTransaction(
      *begin,
      [&](sepal::Transaction& rep) {
        sepal_transaction_t txn{nullptr, &rep};
        char* error = nullptr;
        body(state, &txn, &error);
        absl::Status failed = StatusOf(error);
        said = absl::IsUnknown(failed) ? std::string(failed.message()) : std::string();
        return failed;
      },
      options->rep);
  if (SaveError(errptr, status) && !said.empty()) {
    sepal_free(*errptr);
    *errptr = sepal::NewCopy(said);
  }
}

void sepal_transaction_commit(sepal_transaction_t* txn, const sepal_writeoptions_t* options, char** errptr) {
  SaveError(errptr, txn->rep->Commit(options->rep));
}

void sepal_transaction_rollback(sepal_transaction_t* txn, char** errptr) { SaveError(errptr, txn->rep->Rollback()); }

void sepal_transaction_set_savepoint(sepal_transaction_t* txn, char** errptr) {
  SaveError(errptr, txn->rep->SetSavepoint());
}

void sepal_transaction_rollback_to_savepoint(sepal_transaction_t* txn, char** errptr) {
  SaveError(errptr, txn->rep->RollbackToSavepoint());
}

uint64_t sepal_transaction_id(const sepal_transaction_t* txn) { return txn->rep->id(); }

uint32_t sepal_transaction_count(const sepal_transaction_t* txn) { return txn->rep->Count(); }

char* sepal_transaction_get(sepal_transaction_t* txn, const sepal_readoptions_t* options, sepal_column_family_t* family,
                            const char* key, size_t keylen, size_t* vallen, char** errptr) {
  const auto get = [&](auto&... on) { return txn->rep->Get(on..., BytesOf(key, keylen), options->rep); };
  return TakeValue(OnFamily(family, get), vallen, errptr);
}

char* sepal_transaction_get_for_update(sepal_transaction_t* txn, const sepal_readoptions_t* options,
                                       sepal_column_family_t* family, const char* key, size_t keylen, size_t* vallen,
                                       char** errptr) {
  const auto get = [&](auto&... on) { return txn->rep->GetForUpdate(on..., BytesOf(key, keylen), options->rep); };
  return TakeValue(OnFamily(family, get), vallen, errptr);
}

char* sepal_transaction_get_for_share(sepal_transaction_t* txn, const sepal_readoptions_t* options,
                                      sepal_column_family_t* family, const char* key, size_t keylen, size_t* vallen,
                                      char** errptr) {
  const auto get = [&](auto&... on) { return txn->rep->GetForShare(on..., BytesOf(key, keylen), options->rep); };
  return TakeValue(OnFamily(family, get), vallen, errptr);
}

void sepal_transaction_multi_get(sepal_transaction_t* txn, const sepal_readoptions_t* options,
                                 sepal_column_family_t* family, size_t num_keys, const char* const* keys,
                                 const size_t* keylens, char** values, size_t* vallens, char** errs) {
  MultiGetFrom(txn->rep, options, family, num_keys, keys, keylens, values, vallens, errs);
}

sepal_iterator_t* sepal_transaction_create_iterator(sepal_transaction_t* txn, const sepal_readoptions_t* options,
                                                    sepal_column_family_t* family) {
  return new sepal_iterator_t{
      OnFamily(family, [&](auto&... on) { return txn->rep->NewIterator(on..., options->rep); })};
}

void sepal_transaction_put(sepal_transaction_t* txn, sepal_column_family_t* family, const char* key, size_t keylen,
                           const char* val, size_t vallen, char** errptr) {
  PutWith(txn->rep, family, BytesOf(key, keylen), BytesOf(val, vallen), {}, errptr);
}

void sepal_transaction_put_expiring(sepal_transaction_t* txn, sepal_column_family_t* family, const char* key,
                                    size_t keylen, const char* val, size_t vallen, uint64_t expires_at, char** errptr) {
  PutWith(txn->rep, family, BytesOf(key, keylen), BytesOf(val, vallen), {.expires_at = sepal::TimeOfMillis(expires_at)},
          errptr);
}

void sepal_transaction_put_with_ttl(sepal_transaction_t* txn, sepal_column_family_t* family, const char* key,
                                    size_t keylen, const char* val, size_t vallen, int64_t ttl_millis, char** errptr) {
  PutWith(txn->rep, family, BytesOf(key, keylen), BytesOf(val, vallen), {.ttl = std::chrono::milliseconds(ttl_millis)},
          errptr);
}

void sepal_transaction_delete(sepal_transaction_t* txn, sepal_column_family_t* family, const char* key, size_t keylen,
                              char** errptr) {
  SaveError(errptr, OnFamily(family, [&](auto&... on) { return txn->rep->Delete(on..., BytesOf(key, keylen)); }));
}

void sepal_transaction_singledelete(sepal_transaction_t* txn, sepal_column_family_t* family, const char* key,
                                    size_t keylen, char** errptr) {
  SaveError(errptr, OnFamily(family, [&](auto&... on) { return txn->rep->SingleDelete(on..., BytesOf(key, keylen)); }));
}

void sepal_transaction_merge(sepal_transaction_t* txn, sepal_column_family_t* family, const char* key, size_t keylen,
                             const char* operand, size_t operandlen, char** errptr) {
  SaveError(errptr, OnFamily(family, [&](auto&... on) {
              return txn->rep->Merge(on..., BytesOf(key, keylen), BytesOf(operand, operandlen));
            }));
}

void sepal_transaction_delete_range(sepal_transaction_t* txn, sepal_column_family_t* family, const char* begin,
                                    size_t beginlen, const char* end, size_t endlen, char** errptr) {
  SaveError(errptr, OnFamily(family, [&](auto&... on) {
              return txn->rep->DeleteRange(on..., BytesOf(begin, beginlen), OptionalBytes(end, endlen));
            }));
}

sepal_writeconditions_t* sepal_writeconditions_create(void) { return new sepal_writeconditions_t; }

void sepal_writeconditions_destroy(sepal_writeconditions_t* conditions) { delete conditions; }

void sepal_writeconditions_clear(sepal_writeconditions_t* conditions) { conditions->rep.Clear(); }

void sepal_writeconditions_absent(sepal_writeconditions_t* conditions, sepal_column_family_t* family, const char* key,
                                  size_t keylen) {
  OnFamily(family, [&](auto&... on) { conditions->rep.Absent(on..., BytesOf(key, keylen)); });
}

void sepal_writeconditions_present(sepal_writeconditions_t* conditions, sepal_column_family_t* family, const char* key,
                                   size_t keylen) {
  OnFamily(family, [&](auto&... on) { conditions->rep.Present(on..., BytesOf(key, keylen)); });
}

void sepal_writeconditions_equals(sepal_writeconditions_t* conditions, sepal_column_family_t* family, const char* key,
                                  size_t keylen, const char* val, size_t vallen) {
  OnFamily(family, [&](auto&... on) { conditions->rep.Equals(on..., BytesOf(key, keylen), BytesOf(val, vallen)); });
}

unsigned char sepal_write_if(sepal_t* db, const sepal_writeoptions_t* options,
                             const sepal_writeconditions_t* conditions, const sepal_writebatch_t* batch,
                             char** errptr) {
  return TakeAnswer(db->rep->WriteIf(conditions->rep, batch->rep, options->rep), errptr);
}

unsigned char sepal_put_if_absent(sepal_t* db, const sepal_writeoptions_t* options, sepal_column_family_t* family,
                                  const char* key, size_t keylen, const char* val, size_t vallen, char** errptr) {
  return TakeAnswer(
      db->rep->PutIfAbsent(FamilyOf(db, family), BytesOf(key, keylen), BytesOf(val, vallen), options->rep), errptr);
}

unsigned char sepal_compare_and_set(sepal_t* db, const sepal_writeoptions_t* options, sepal_column_family_t* family,
                                    const char* key, size_t keylen, const char* expected, size_t expectedlen,
                                    const char* desired, size_t desiredlen, char** errptr) {
  return TakeAnswer(
      db->rep->CompareAndSet(FamilyOf(db, family), BytesOf(key, keylen), OptionalBytes(expected, expectedlen),
                             OptionalBytes(desired, desiredlen), options->rep),
      errptr);
}

unsigned char sepal_delete_if(sepal_t* db, const sepal_writeoptions_t* options, sepal_column_family_t* family,
                              const char* key, size_t keylen, const char* expected, size_t expectedlen, char** errptr) {
  return TakeAnswer(
      db->rep->DeleteIf(FamilyOf(db, family), BytesOf(key, keylen), BytesOf(expected, expectedlen), options->rep),
      errptr);
}

}  // extern "C"
