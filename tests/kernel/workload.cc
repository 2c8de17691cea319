#include "tests/kernel/workload.h"

#include <utility>

#include "absl/strings/str_format.h"
#include "util/base/random.h"
#include "util/base/status.h"

namespace sepal::kernel {

namespace {

constexpr const char* kSecondFamily = "second";
constexpr const char* kNumberKey = "number";
constexpr uint64_t kKeys = 300;

// Moves the model to what the database says it holds, and compares.
absl::StatusOr<uint64_t> Compare(DB* db, Model* model) {
  ASSIGN_OR_RETURN(const std::shared_ptr<ColumnFamily> second, db->FindColumnFamily(kSecondFamily));
  const absl::StatusOr<std::string> number = db->Get(kNumberKey);
  if (!number.ok() && !absl::IsNotFound(number.status())) return number.status();
  const uint64_t last = number.ok() ? std::stoull(*number) : 0;
  while (model->number() < last) model->Next(db->DefaultColumnFamily(), *second);
  for (int family = 0; family < 2; ++family) {
    const std::unique_ptr<Iterator> it = db->NewIterator(family == 0 ? db->DefaultColumnFamily() : *second);
    auto expected = model->contents(family).begin();
    for (it->SeekToFirst(); it->Valid(); it->Next(), ++expected) {
      if (expected == model->contents(family).end() || it->key() != expected->first ||
          it->value() != expected->second) {
        return absl::InternalError(
            absl::StrFormat("WRONG: family %d differs from update %u at key %s", family, last, std::string(it->key())));
      }
    }
    RETURN_IF_ERROR(it->status());
    if (expected != model->contents(family).end()) {
      return absl::InternalError(
          absl::StrFormat("WRONG: family %d lacks key %s of update %u", family, expected->first, last));
    }
  }
  return last;
}

}  // namespace

namespace {

bool IsLarge(uint64_t seed) { return seed % 4 == 3; }

// A synced update writes the log's ring out; with few of them it is written out when it is full.
uint64_t UpdatesBetweenSyncs(uint64_t seed) { return IsLarge(seed) ? 20'000 : 16; }

}  // namespace

Options MakeOptions(uint64_t seed) {
  Options options;
  options.create_if_missing = true;
  options.memory_limit = size_t{IsLarge(seed) ? 64u : 8u} << 20;
  options.memtable_bytes = size_t{IsLarge(seed) ? 8192u : 64u} << 10;
  // Of the second family half of all values go to value files, and in every other history so do those of the first.
  options.column_families = {{kSecondFamily, {.separate_from = 100}}};
  options.family.separate_from = seed % 2 == 0 ? 64 : 0;
  return options;
}

WriteBatch Model::Next(const ColumnFamily& first, const ColumnFamily& second) {
  const uint64_t number = ++number_;
  Random random(seed_ * 0x9e3779b97f4a7c15ull + number);
  WriteBatch batch;
  batch.Put(first, kNumberKey, std::to_string(number));
  contents_[0][kNumberKey] = std::to_string(number);
  for (uint64_t n = 1 + random.Uniform(4); n > 0; --n) {
    const int family = random.OneIn(3) ? 1 : 0;
    const ColumnFamily& target = family == 0 ? first : second;
    const std::string key = absl::StrFormat("key%04u", random.Uniform(kKeys));
    if (random.OneIn(5)) {
      batch.Delete(target, key);
      contents_[family].erase(key);
    } else {
      const uint64_t size = random.OneIn(200) ? 20'000 : random.Uniform(200);
      std::string value = absl::StrFormat("%u:", number) + std::string(size, static_cast<char>('a' + number % 26));
      batch.Put(target, key, value);
      contents_[family][key] = std::move(value);
    }
  }
  return batch;
}

absl::Status WriteOn(const std::string& path, uint64_t seed,
                     const std::function<void(uint64_t number, bool durable)>& acknowledged) {
  ASSIGN_OR_RETURN(const std::unique_ptr<DB> db, DB::Open(MakeOptions(seed), path));
  Model model(seed);
  RETURN_IF_ERROR(Compare(db.get(), &model).status());
  ASSIGN_OR_RETURN(const std::shared_ptr<ColumnFamily> second, db->FindColumnFamily(kSecondFamily));
  while (true) {
    const WriteBatch batch = model.Next(db->DefaultColumnFamily(), *second);
    const bool sync = model.number() % UpdatesBetweenSyncs(seed) == 0;
    RETURN_IF_ERROR(db->Write(batch, {.sync = sync}));
    acknowledged(model.number(), sync);
  }
}

absl::StatusOr<uint64_t> Check(const std::string& path, uint64_t seed) {
  ASSIGN_OR_RETURN(const std::unique_ptr<DB> db, DB::Open(MakeOptions(seed), path));
  Model model(seed);
  ASSIGN_OR_RETURN(const uint64_t last, Compare(db.get(), &model));
  RETURN_IF_ERROR(db->VerifyChecksums());
  RETURN_IF_ERROR(db->CheckConsistency());
  RETURN_IF_ERROR(db->Close());
  return last;
}

}  // namespace sepal::kernel
