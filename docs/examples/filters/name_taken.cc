// Is that name taken? A filter of all names answers before a SQL query does: who signs up mostly takes a name that
// nobody has, and for that the database is not asked.
//   name_taken [FILE]      a new one, where the SQLite database is made, and removed (default: name_taken.db)
#include <sqlite3.h>

#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "example.h"
#include "sepal/filter.h"

namespace {

struct Closes {
  void operator()(sqlite3* db) const { sqlite3_close(db); }
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

class Users {
 public:
  static std::unique_ptr<Users> Create(const std::string& path) {
    sqlite3* db = nullptr;
    const int opened = sqlite3_open(path.c_str(), &db);
    auto users = std::unique_ptr<Users>(new Users(db));
    if (opened != SQLITE_OK || !users->Run("CREATE TABLE users(name TEXT PRIMARY KEY) WITHOUT ROWID")) return nullptr;
    users->has_ = users->Prepare("SELECT 1 FROM users WHERE name = ?");
    users->insert_ = users->Prepare("INSERT INTO users VALUES(?)");
    return users->has_ != nullptr && users->insert_ != nullptr ? std::move(users) : nullptr;
  }

  bool Run(const char* sql) { return sqlite3_exec(db_.get(), sql, nullptr, nullptr, nullptr) == SQLITE_OK; }
  // Fails if somebody has the name.
  bool Insert(const std::string& name) { return Step(insert_.get(), name) == SQLITE_DONE; }
  bool Has(const std::string& name) {
    ++queries_;
    return Step(has_.get(), name) == SQLITE_ROW;
  }
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    const auto all = Prepare("SELECT name FROM users");
    while (sqlite3_step(all.get()) == SQLITE_ROW) {
      names.emplace_back(reinterpret_cast<const char*>(sqlite3_column_text(all.get(), 0)));
    }
    return names;
  }
  uint64_t queries() const { return queries_; }

 private:
  using Statement = std::unique_ptr<sqlite3_stmt, Closes>;
  explicit Users(sqlite3* db) : db_(db) {}
  Statement Prepare(const char* sql) {
    sqlite3_stmt* statement = nullptr;
    sqlite3_prepare_v2(db_.get(), sql, -1, &statement, nullptr);
    return Statement(statement);
  }
  static int Step(sqlite3_stmt* statement, const std::string& name) {
    sqlite3_bind_text(statement, 1, name.data(), static_cast<int>(name.size()), SQLITE_STATIC);
    const int result = sqlite3_step(statement);
    sqlite3_reset(statement);
    return result;
  }

  std::unique_ptr<sqlite3, Closes> db_;
  Statement has_, insert_;
  uint64_t queries_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  constexpr size_t kUsers = 100'000, kSignUps = 50'000;
  const example::NewPlace place(argc > 1 ? argv[1] : "name_taken.db");
  if (!place.is_new()) return 1;
  const std::string path = place.path().string();
  const std::unique_ptr<Users> users = Users::Create(path);
  if (users == nullptr) return example::Fail(path + " cannot be made");
  std::mt19937_64 random(11);
  if (!users->Run("BEGIN")) return example::Fail("no transaction");
  for (size_t i = 0; i < kUsers; ++i) {
    if (!users->Insert("user" + std::to_string(i))) return example::Fail("a user could not be added");
  }
  if (!users->Run("COMMIT")) return example::Fail("the users could not be written");

  // When the program starts, the filter is read from the table. It has room for those who come.
  const std::vector<std::string> names = users->Names();
  auto filter = sepal::filters::BloomFilter::ForKeys(names.size() + kSignUps, 0.01);
  if (!filter.ok()) return example::Fail(filter.status().ToString());
  for (const std::string& name : names) filter->Add(name);

  if (!users->Run("BEGIN")) return example::Fail("no transaction");
  uint64_t taken = 0, in_vain = 0, free = 0;
  double expected = 0;
  for (size_t i = 0; i < kSignUps; ++i) {
    // One in ten wants a name that somebody has.
    const bool is_taken = i % 10 == 0;
    const std::string name = is_taken ? names[random() % names.size()] : example::RandomText(random, 9);
    if (!is_taken) {
      ++free;
      expected += filter->shape().RateAt(kUsers + i * 9 / 10);
    }
    const bool maybe = filter->MayContain(name), has = maybe && users->Has(name);
    if (has != is_taken) return example::Fail("a wrong answer for " + name);
    taken += has;
    in_vain += maybe && !has;
    if (has) continue;
    if (!users->Insert(name)) return example::Fail("a name was taken after all");
    filter->Add(name);
  }
  if (!users->Run("COMMIT")) return example::Fail("the sign-ups could not be written");
  std::printf("%zu users in %s, a filter of %llu bytes\n", names.size(), path.c_str(),
              static_cast<unsigned long long>(filter->MemoryBytes()));
  std::printf("%zu sign-ups, %llu of them for a name that is taken: %llu queries, %.1f %% of them saved\n", kSignUps,
              static_cast<unsigned long long>(taken), static_cast<unsigned long long>(users->queries()),
              100 - 100.0 * static_cast<double>(users->queries()) / kSignUps);
  return example::Agrees("queries for a name that is free", in_vain, free, expected / static_cast<double>(free))
             ? 0
             : example::Fail("that is not what theory says");
}
