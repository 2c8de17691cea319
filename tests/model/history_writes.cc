#include <algorithm>

#include "tests/model/history.h"
#include "tests/model/option_sets.h"
#include "util/base/status.h"

namespace sepal::model {

namespace {

uint32_t GroupOf(std::string_view key) {
  uint32_t sum = 0;
  for (const char c : key) sum += static_cast<uint8_t>(c) | 0x20u;
  return sum % 4;
}
// A quarter of the keys are merged as well as put and deleted.
bool IsForMerges(std::string_view key) { return GroupOf(key) == 1; }
// A few of these are merged again and again, so that memtables hold long chains of folded operands beside snapshots.
constexpr std::string_view kHotKeys[] = {"hot2", "hot6", "hot:"};
bool IsHot(std::string_view key) { return std::ranges::find(kHotKeys, key) != std::end(kHotKeys); }

std::chrono::system_clock::time_point TimeOfUpdate(const Update& update) {
  return std::chrono::system_clock::time_point(std::chrono::milliseconds(update.expiry_millis));
}

void AddTo(WriteBatch* batch, const ColumnFamily& family, const Update& update) {
  switch (update.kind) {
    case ValueKind::kPut:
    case ValueKind::kReference:  // what a put becomes
      return batch->Put(family, update.key, update.value);
    case ValueKind::kExpiringPut:
    case ValueKind::kExpiringReference:
      return batch->Put(family, update.key, update.value, TimeOfUpdate(update));
    case ValueKind::kDelete:
      return batch->Delete(family, update.key);
    case ValueKind::kSingleDelete:
      return batch->SingleDelete(family, update.key);
    case ValueKind::kRangeDelete:
      return batch->DeleteRange(family, update.key, update.end);
    case ValueKind::kMerge:
    case ValueKind::kFoldedMerge:
      return batch->Merge(family, update.key, update.value);
  }
}

absl::Status AddTo(Transaction* transaction, const ColumnFamily& family, const Update& update) {
  switch (update.kind) {
    case ValueKind::kPut:
    case ValueKind::kReference:  // what a put becomes
    case ValueKind::kExpiringPut:
    case ValueKind::kExpiringReference:
      return transaction->Put(family, update.key, update.value);
    case ValueKind::kDelete:
      return transaction->Delete(family, update.key);
    case ValueKind::kSingleDelete:
      return transaction->SingleDelete(family, update.key);
    case ValueKind::kRangeDelete:
      return transaction->DeleteRange(family, update.key, update.end);
    case ValueKind::kMerge:
    case ValueKind::kFoldedMerge:
      break;
  }
  return transaction->Merge(family, update.key, update.value);
}

absl::Status WriteTo(DB* db, const ColumnFamily& family, const Update& update, const WriteOptions& options) {
  switch (update.kind) {
    case ValueKind::kPut:
    case ValueKind::kReference:  // what a put becomes
      return db->Put(family, update.key, update.value, options);
    case ValueKind::kExpiringPut:
    case ValueKind::kExpiringReference: {
      WriteOptions expiring = options;
      expiring.expires_at = TimeOfUpdate(update);
      return db->Put(family, update.key, update.value, expiring);
    }
    case ValueKind::kDelete:
      return db->Delete(family, update.key, options);
    case ValueKind::kSingleDelete:
      return db->SingleDelete(family, update.key, options);
    case ValueKind::kRangeDelete:
      return db->DeleteRange(family, update.key, update.end, options);
    case ValueKind::kMerge:
    case ValueKind::kFoldedMerge:
      break;
  }
  return db->Merge(family, update.key, update.value, options);
}

}  // namespace

// Another quarter are only deleted by single deletes, and put once between them, as the contract says. Histories with
// hot keys have no single deletes, because a memtable with one keeps all updates.
bool History::IsForSingleDeletes(std::string_view key) const { return !hot_keys_ && GroupOf(key) == 0; }

std::string History::RandomKey() {
  if (hot_keys_ && random_.OneIn(3)) return std::string(kHotKeys[random_.Uniform(std::size(kHotKeys))]);
  const uint64_t number = random_.Uniform(120);
  switch (random_.Uniform(16)) {
    case 0:
      return number < 10 ? std::string() : std::string(1, static_cast<char>(number));
    case 1:
      return std::string("binary\0\xff", 8) + static_cast<char>(number);
    case 2:
      return std::string(200 + number, 'x') + static_cast<char>('a' + number % 5);
    case 3:
      return (number % 2 == 0 ? "Case" : "cASE") + std::to_string(number / 8);
    default:
      return NumberedKey(number);
  }
}

std::string History::RandomValue() {
  std::string value = std::to_string(++values_) + ".";
  switch (random_.Uniform(20)) {
    case 0:
      return {};
    case 1:
      value.resize(400 + random_.Uniform(2000), static_cast<char>(random_.Uniform(256)));
      break;
    case 2:
      while (value.size() < 300) value.push_back(static_cast<char>(random_.Uniform(256)));
      break;
    default:
      value.resize(value.size() + random_.Uniform(60), 'v');
      break;
  }
  return value;
}

std::string History::RandomFamily() {
  const std::vector<std::string> names = model_.FamilyNames();
  return random_.OneIn(2) ? "default" : names[random_.Uniform(names.size())];
}

const ColumnFamily& History::Handle(const std::string& family) { return *handles_.at(family); }

Update History::RandomRangeDelete(const std::string& family) {
  Update update{.family = family, .kind = ValueKind::kRangeDelete, .key = RandomKey(), .value = {}};
  if (random_.OneIn(10)) return update;
  update.end = RandomKey();
  // Short ones mostly, so that not everything is always deleted.
  if (!random_.OneIn(4)) update.end = update.key + std::string(1 + random_.Uniform(2), 'z');
  if (model_.comparator(family)->Compare(*update.end, update.key) < 0) std::swap(update.key, *update.end);
  return update;
}

Update History::RandomUpdate(const std::string& family) {
  if (deletes_ranges_ && random_.OneIn(12)) return RandomRangeDelete(family);
  Update update{.family = family, .kind = ValueKind::kPut, .key = RandomKey(), .value = {}};
  if (IsForSingleDeletes(update.key)) {
    if (model_.PutsSinceDeletion(family, update.key) == 1) update.kind = ValueKind::kSingleDelete;
  } else if (!filters_ && IsForMerges(update.key) && !random_.OneIn(IsHot(update.key) ? 40 : 5)) {
    update.kind = ValueKind::kMerge;
  } else if (random_.OneIn(4)) {
    update.kind = ValueKind::kDelete;
  }
  if (update.kind == ValueKind::kPut && !IsForSingleDeletes(update.key) && database_.clock != nullptr &&
      random_.OneIn(4)) {
    update.kind = ValueKind::kExpiringPut;
    update.expiry_millis = model_.now_millis() + kClockStepMillis * (1 + random_.Uniform(3));
  }
  if (!IsTombstone(update.kind)) update.value = RandomValue();
  // What a crash has left is told by its values.
  if (update.kind == ValueKind::kExpiringPut) update.value += "until" + std::to_string(++values_);
  return update;
}

// Expiries are at whole steps of the clock, and what passes by itself between two of them is short.
void History::AdvanceClock() {
  if (database_.clock == nullptr) return;
  const uint64_t passed = database_.clock->UnixMicros() / 1000 - model_.now_millis();
  Expect(passed < kClockStepMillis / 2, "simulated time passes too fast for the model");
  database_.clock->Jump(static_cast<int64_t>(kClockStepMillis));
  model_.AdvanceTo(model_.now_millis() + kClockStepMillis);
  ExpireNamed();
  // They go on showing what they stand at.
  iterators_.clear();
}

// Values begin with digits.
void History::SetEpoch() {
  if (!filters_) return;
  constexpr size_t kMostLetters = 6;
  const std::string family = RandomFamily();
  std::string epoch = model_.EpochAt(family, model_.latest());
  const char letter = static_cast<char>('1' + random_.Uniform(9));
  if (epoch.find(letter) == std::string::npos && epoch.size() < kMostLetters) epoch += letter;
  const absl::Status set = database_.db->SetFilterEpoch(Handle(family), epoch);
  // One that a crash cut off may have come about.
  model_.SetEpoch(family, epoch);
  if (!Succeeded(set, "epoch") || crashed_) return;
  acknowledged_ = synced_ = model_.latest();
  NoteMoment();
}

absl::Status History::WriteAsTransaction(const std::vector<Update>& batch, const WriteOptions& options) {
  TransactionOptions begin;
  if (random_.OneIn(2)) begin.isolation = Isolation::kSerializable;
  if (random_.OneIn(2)) begin.locking = Locking::kPessimistic;
  DB* const db = database_.db.get();
  const ColumnFamily& family = Handle(batch.front().family);
  ASSIGN_OR_RETURN(const std::unique_ptr<Transaction> transaction, db->BeginTransaction(begin));
  for (const Update& update : batch) RETURN_IF_ERROR(AddTo(transaction.get(), Handle(update.family), update));
  const std::unique_ptr<Iterator> iterator = transaction->NewIterator(family);
  const Entries shown = ReadAll(iterator.get());
  const bool all_shown = iterator->status().ok();
  RETURN_IF_ERROR(transaction->Commit(options));
  // A filter leaves out what is committed alone.
  if (!all_shown || filters_ || crashed_) return absl::OkStatus();
  const std::unique_ptr<Iterator> after = db->NewIterator(family);
  const Entries committed = ReadAll(after.get());
  Expect(committed == shown || !after->status().ok(), "a transaction's iterator showed what its commit did not make");
  return absl::OkStatus();
}

void History::Write(const std::vector<Update>& batch, bool as_batch) {
  const WriteOptions options{.sync = random_.OneIn(12)};
  const Update& first = batch.front();
  const bool expires = std::any_of(batch.begin(), batch.end(),
                                   [](const Update& update) { return update.kind == ValueKind::kExpiringPut; });
  absl::Status written;
  if (as_batch && !expires && random_.OneIn(3)) {
    written = WriteAsTransaction(batch, options);
  } else if (as_batch) {
    WriteBatch all;
    for (const Update& update : batch) AddTo(&all, Handle(update.family), update);
    written = database_.db->Write(all, options);
  } else {
    written = WriteTo(database_.db.get(), Handle(first.family), first, options);
  }
  // A write that a crash cut off may have come about.
  model_.Apply(batch);
  // A store into a mapping cannot tell that the world has ended: what is said after that is no acknowledgement.
  if (!Succeeded(written, "write") || crashed_) return;
  acknowledged_ = model_.latest();
  if (options.sync) synced_ = acknowledged_;
  NoteMoment();
}

void History::WriteOne() { Write({RandomUpdate(RandomFamily())}, /*as_batch=*/random_.OneIn(4)); }

void History::WriteMany() {
  std::vector<Update> batch;
  const uint64_t count = 1 + random_.Uniform(random_.OneIn(8) ? 100 : 6);
  for (uint64_t i = 0; i < count; ++i) {
    Update update = RandomUpdate(RandomFamily());
    const auto same = [&](const Update& other) {
      return other.family == update.family && model_.comparator(update.family)->Compare(other.key, update.key) == 0;
    };
    if (IsForSingleDeletes(update.key) && std::any_of(batch.begin(), batch.end(), same)) continue;
    batch.push_back(std::move(update));
  }
  if (!batch.empty()) Write(batch, /*as_batch=*/true);
}

void History::CreateFamily() {
  if (model_.FamilyNames().size() >= 4) return;
  unsure_family_ = "family" + std::to_string(++values_);
  auto made = database_.db->CreateColumnFamily(unsure_family_, database_.options.family);
  if (!Succeeded(made.status(), "create family")) return;
  model_.CreateFamily(unsure_family_, database_.options.family.comparator);
  handles_[std::exchange(unsure_family_, "")] = std::move(made).value();
}

void History::DropFamily() {
  std::vector<std::string> names = model_.FamilyNames();
  const std::string name = names[random_.Uniform(names.size())];
  if (name == "default") return;
  unsure_family_ = name;
  const std::shared_ptr<ColumnFamily> handle = handles_.at(name);
  if (!Succeeded(database_.db->DropColumnFamily(*handle), "drop family")) return;
  unsure_family_.clear();
  model_.DropFamily(name);
  handles_.erase(name);
  Expect(absl::IsFailedPrecondition(database_.db->Put(*handle, "k", "v")), "a put into a dropped family");
  Expect(absl::IsFailedPrecondition(database_.db->Get(*handle, "k").status()), "a get from a dropped family");
}

void History::Flush() {
  const std::string family = RandomFamily();
  const bool wait = !random_.OneIn(4);
  if (!Succeeded(database_.db->Flush(Handle(family), {.wait = wait}), "flush")) return;
  // Everything up to the family's last entry is in a synced table or a synced log.
  if (wait) synced_ = std::max(synced_, std::min(acknowledged_, model_.LastBatchOf(family)));
}

void History::Sync() {
  if (Succeeded(database_.db->Sync(), "sync")) synced_ = acknowledged_;
}

void History::Compact() {
  const std::string family = RandomFamily();
  const std::string a = RandomKey();
  const std::string b = RandomKey();
  const bool ordered = model_.comparator(family)->Compare(a, b) <= 0;
  CompactRangeOptions range;
  if (random_.OneIn(2)) range.begin = ordered ? a : b;
  if (random_.OneIn(2)) range.end = ordered ? b : a;
  range.covered_only = range.begin.has_value() && range.begin->size() % 2 == 1;
  if (Succeeded(database_.db->CompactRange(Handle(family), range), "compact")) Maintain();
}

void History::Maintain() {
  if (!random_.OneIn(3) && !Succeeded(database_.db->WaitForBackgroundWork(), "wait")) return;
  if (!Succeeded(database_.db->CheckConsistency(), "consistency")) return;
  if (random_.OneIn(4) && !Succeeded(database_.db->VerifyChecksums(), "checksums")) return;
  if (random_.OneIn(3)) VerifyAll();
}

}  // namespace sepal::model
