// A join by filter: orders are kept by customer, and the report is about customers of one town. That town's database
// exports a filter of its customers, a scan of the orders asks it before it touches an order, and only what is left is
// looked up for certain.
//   join_by_filter [DIRECTORY]      a new one, where the databases are made, and removed (default: join_by_filter.db)
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "example.h"
#include "sepal/db.h"
#include "sepal/key_filter.h"

namespace {

constexpr int kCustomers = 200'000, kOneInTownOf = 100;
constexpr double kRate = 0.01;

std::string Customer(int number) {
  char text[24];
  std::snprintf(text, sizeof(text), "customer%08d", number);
  return text;
}

absl::StatusOr<std::unique_ptr<sepal::DB>> Make(const std::string& path, int step) {
  auto db = sepal::DB::Open({.create_if_missing = true, .memory_limit = size_t{64} << 20}, path);
  if (!db.ok()) return db;
  for (int i = 0; i < kCustomers; i += step) {
    if (absl::Status put = (*db)->Put(Customer(i), std::string(200, 'o')); !put.ok()) return put;
  }
  return db;
}

// How far estimates by sketches are off: the root of the mean square, over column families with other keys each.
absl::StatusOr<double> ErrorOfEstimates(sepal::DB& db) {
  constexpr int kFamilies = 30, kKeys = 10'000;
  double sum = 0;
  for (int i = 0; i < kFamilies; ++i) {
    const auto family = db.CreateColumnFamily("sample" + std::to_string(i), {});
    if (!family.ok()) return family.status();
    for (int key = i * kKeys; key < (i + 1) * kKeys; ++key) {
      if (absl::Status put = db.Put(**family, Customer(key), ""); !put.ok()) return put;
    }
    const absl::StatusOr<double> about = db.ApproximateDistinct(**family);
    if (!about.ok()) return about.status();
    sum += (*about / kKeys - 1) * (*about / kKeys - 1);
  }
  return std::sqrt(sum / kFamilies);
}

struct Joined {
  uint64_t matches = 0, false_positives = 0;
};

absl::StatusOr<Joined> Join(sepal::DB& orders, sepal::DB& town) {
  const auto filter = town.ExportFilter({.false_positive_rate = kRate});
  if (!filter.ok()) return filter.status();
  const sepal::KeyFilterOf asked(*filter);
  sepal::ScanRange range = orders.Scan({.key_filter = &asked});
  Joined joined;
  sepal::PinnedValue customer;
  for (const auto& [key, order] : range) {
    const absl::Status found = town.Get(key, customer);
    if (!found.ok() && !absl::IsNotFound(found)) return found;
    ++(found.ok() ? joined.matches : joined.false_positives);
  }
  if (!range.status().ok()) return range.status();
  return joined;
}

}  // namespace

int main(int argc, char** argv) {
  const example::NewPlace place(argc > 1 ? argv[1] : "join_by_filter.db");
  if (!place.is_new()) return 1;
  const std::filesystem::path& directory = place.path();
  std::filesystem::create_directories(directory);
  absl::StatusOr<Joined> joined = absl::InternalError("not joined");
  double error = 0;
  {
    const auto orders = Make(directory / "orders", 1), town = Make(directory / "town", kOneInTownOf);
    if (!orders.ok()) return example::Fail(orders.status().ToString());
    if (!town.ok()) return example::Fail(town.status().ToString());
    joined = Join(**orders, **town);
    if (joined.ok()) {
      const absl::StatusOr<double> keys = (*town)->ApproximateDistinct();
      if (!keys.ok()) return example::Fail(keys.status().ToString());
      std::printf("customers of the town: %d, by the sketches about %.0f\n", kCustomers / kOneInTownOf, *keys);
      const absl::StatusOr<double> off = ErrorOfEstimates(**town);
      if (!off.ok()) return example::Fail(off.status().ToString());
      error = *off;
      std::printf("estimates of 30 families are off by %.1f %%; in theory 3.3 %%\n", 100 * error);
    }
  }
  if (!joined.ok()) return example::Fail(joined.status().ToString());
  const uint64_t looked_up = joined->matches + joined->false_positives;
  std::printf("%d orders, %llu matches; looked up: %llu, which saves %.1f %% of the calls\n", kCustomers,
              static_cast<unsigned long long>(joined->matches), static_cast<unsigned long long>(looked_up),
              100.0 * (1 - static_cast<double>(looked_up) / kCustomers));
  const uint64_t strangers = kCustomers - kCustomers / kOneInTownOf;
  // The filter was sized by an estimate: at most the rate that was asked for.
  const double rate = static_cast<double>(joined->false_positives) / static_cast<double>(strangers);
  std::printf("looked up in vain: %.4g; asked for: at most %.4g\n", rate, kRate);
  const bool all = joined->matches == kCustomers / kOneInTownOf;
  const bool estimates = error > 0.033 / 2 && error < 0.033 * 1.7;  // by chance, once in 100,000 runs
  return all && estimates && rate > kRate / 4 && rate < kRate * 1.15 ? 0
                                                                     : example::Fail("that is not what theory says");
}
