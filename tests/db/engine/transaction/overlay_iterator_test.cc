// A transaction's own reads against a model, with random updates over a random database.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "tests/caseless_comparator.h"
#include "tests/db/engine/engine_fixture.h"
#include "util/base/random.h"

namespace sepal {
namespace {

using Model = std::map<std::string, std::string>;

class OverlayIteratorTest : public EngineTest {
 protected:
  void SetUp() override {
    database.options.family.merge_operator = MergeOperators::Append();
    EngineTest::SetUp();
  }
  static std::string RandomKey(Random* random) {
    return std::string(1 + random->Uniform(2), static_cast<char>('a' + random->Uniform(8)));
  }

  // One random update of the target, which is a database or a transaction, and of its model.
  template <class Target>
  void Update(Target* target, Model* model, Random* random) {
    const std::string key = RandomKey(random);
    const std::string value = std::to_string(random->Uniform(1000));
    switch (random->Uniform(6)) {
      case 0:
      case 1:
        ASSERT_OK(target->Put(key, value));
        (*model)[key] = value;
        break;
      case 2:
        ASSERT_OK(target->Delete(key));
        model->erase(key);
        break;
      case 3:
      case 4: {
        ASSERT_OK(target->Merge(key, value));
        const auto [it, fresh] = model->emplace(key, value);
        if (!fresh) it->second += "," + value;
        break;
      }
      default: {
        std::optional<std::string> end = random->OneIn(4) ? std::nullopt : std::optional(RandomKey(random));
        if (end.has_value() && *end < key) end = key;
        ASSERT_OK(target->DeleteRange(key, end));
        model->erase(model->lower_bound(key), end.has_value() ? model->lower_bound(*end) : model->end());
      }
    }
  }

  static void ExpectAt(const Iterator& iterator, const Model& model, Model::const_iterator expected) {
    ASSERT_OK(iterator.status());
    ASSERT_EQ(iterator.Valid(), expected != model.end());
    if (!iterator.Valid()) return;
    EXPECT_EQ(iterator.key(), expected->first);
    EXPECT_EQ(iterator.value(), expected->second);
  }
  static Model::const_iterator Before(const Model& model, Model::const_iterator it) {
    return it == model.begin() ? model.end() : std::prev(it);
  }

  // Random moves of an iterator over `model`, which is within its bounds.
  void Walk(Iterator* iterator, const Model& model, Random* random) {
    auto at = model.end();
    for (int step = 0; step < 30; ++step) {
      const std::string target = RandomKey(random);
      switch (at == model.end() ? random->Uniform(4) : random->Uniform(10)) {
        case 0:
          iterator->SeekToFirst();
          at = model.begin();
          break;
        case 1:
          iterator->SeekToLast();
          at = Before(model, model.end());
          break;
        case 2:
          iterator->Seek(target);
          at = model.lower_bound(target);
          break;
        case 3:
          iterator->SeekForPrev(target);
          at = Before(model, model.upper_bound(target));
          break;
        case 4:
        case 5:
        case 6:
          iterator->Next();
          ++at;
          break;
        default:
          iterator->Prev();
          at = Before(model, at);
      }
      ExpectAt(*iterator, model, at);
      if (HasFatalFailure()) return;
    }
  }
};

TEST_F(OverlayIteratorTest, RandomTransactionsReadWhatAModelHas) {
  Random random(20);
  Model committed;
  for (int round = 0; round < 300; ++round) {
    for (int i = 0; i < 6; ++i) Update(db(), &committed, &random);
    if (random.OneIn(5)) ASSERT_OK(db()->Flush());
    if (random.OneIn(20)) ASSERT_OK(db()->CompactRange());
    const auto isolation = random.OneIn(2) ? Isolation::kSerializable : Isolation::kSnapshot;
    const std::unique_ptr<Transaction> txn = db()->BeginTransaction({.isolation = isolation}).value();
    Model own = committed;
    for (uint64_t i = random.Uniform(10); i > 0; --i) Update(txn.get(), &own, &random);

    ReadOptions options;
    Model shown = own;
    if (random.OneIn(2)) {
      options.lower_bound = RandomKey(&random);
      options.upper_bound = std::max(*options.lower_bound, RandomKey(&random));
      shown = Model(own.lower_bound(*options.lower_bound), own.lower_bound(*options.upper_bound));
    }
    const std::unique_ptr<Iterator> iterator = txn->NewIterator(options);
    Walk(iterator.get(), shown, &random);
    // What follows is not shown by it, but by the next one, and by reads.
    for (uint64_t i = random.Uniform(4); i > 0; --i) Update(txn.get(), &own, &random);
    Walk(iterator.get(), shown, &random);
    const Entries all = ReadAll(txn->NewIterator().get());
    ASSERT_EQ(Model(all.begin(), all.end()), own) << round;
    for (int i = 0; i < 5; ++i) {
      const std::string key = RandomKey(&random);
      const auto expected = own.find(key);
      ASSERT_EQ(txn->Get(key).value_or("absent"), expected != own.end() ? expected->second : "absent");
    }
    if (random.OneIn(3)) {
      ASSERT_OK(txn->Rollback());
    } else {
      ASSERT_OK(txn->Commit());
      committed = own;
    }
    const Entries now = ReadAll(db()->NewIterator().get());
    ASSERT_EQ(Model(now.begin(), now.end()), committed) << round;
    if (HasFatalFailure()) return;
  }
}

// Keys that are equal may differ in their bytes: the iterator shows those that a commit makes.
TEST(OverlaySpellingTest, AnUpdateBringsTheBytesOfItsKey) {
  static const CaselessComparator caseless;
  TestDatabase database;
  database.options.family.comparator = &caseless;
  ASSERT_OK(database.Open());
  ASSERT_OK(database.db->Put("apple", "old"));
  ASSERT_OK(database.db->Put("pear", "old"));
  const std::unique_ptr<Transaction> transaction = database.db->BeginTransaction().value();
  ASSERT_OK(transaction->Put("Apple", "1"));
  ASSERT_OK(transaction->Put("fig", "1"));
  ASSERT_OK(transaction->Put("FIG", "2"));
  ASSERT_OK(transaction->Put("lime", "1"));
  ASSERT_OK(transaction->Delete("LIME"));
  const std::unique_ptr<Iterator> iterator = transaction->NewIterator();
  iterator->SeekToFirst();
  // Later updates are not this iterator's, and move the batch in memory.
  ASSERT_OK(transaction->Put("fIG", std::string(10'000, 'x')));
  std::string shown;
  for (; iterator->Valid(); iterator->Next()) {
    shown.append(iterator->key()).append("=").append(iterator->value()).append(" ");
  }
  ASSERT_OK(iterator->status());
  EXPECT_EQ(shown, "Apple=1 FIG=2 pear=old ");
}

}  // namespace
}  // namespace sepal
