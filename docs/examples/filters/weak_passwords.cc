// Weak passwords: the server has the list, the client a filter of it. The client asks the server only where the filter
// says "maybe", so that nearly all passwords are never sent.
#include <cstdio>
#include <random>
#include <string>
#include <unordered_set>

#include "example.h"
#include "sepal/filter.h"

namespace {

// The owner of the list.
class Server {
 public:
  explicit Server(size_t passwords) {
    std::mt19937_64 random(1);
    while (list_.size() < passwords) list_.insert(example::RandomText(random, 4 + random() % 4));
  }

  // What a client downloads.
  absl::StatusOr<std::string> FilterFile(double rate) const {
    auto filter = sepal::filters::BloomFilter::ForKeys(list_.size(), rate);
    if (!filter.ok()) return filter.status();
    for (const std::string& password : list_) filter->Add(password);
    return filter->Serialize();
  }
  bool IsWeak(const std::string& password) {
    ++calls_;
    return list_.contains(password);
  }
  const std::unordered_set<std::string>& list() const { return list_; }
  uint64_t calls() const { return calls_; }

 private:
  std::unordered_set<std::string> list_;
  uint64_t calls_ = 0;
};

}  // namespace

int main() {
  constexpr size_t kPasswords = 100'000, kTries = 500'000;
  constexpr double kRate = 0.001;
  Server server(kPasswords);
  const absl::StatusOr<std::string> file = server.FilterFile(kRate);
  if (!file.ok()) return example::Fail(file.status().ToString());
  const auto filter = sepal::filters::ParseFilter(*file, "weak passwords");
  if (!filter.ok()) return example::Fail(filter.status().ToString());
  std::printf("the client holds %zu bytes, for a list of %zu passwords\n", file->size(), kPasswords);

  // One in twenty takes a weak password.
  std::mt19937_64 random(2);
  uint64_t weak = 0, refused = 0;
  auto next = server.list().begin();
  for (size_t i = 0; i < kTries; ++i) {
    const bool is_weak = i % 20 == 0;
    if (is_weak && next == server.list().end()) next = server.list().begin();
    const std::string password = is_weak ? *next++ : example::RandomText(random, 12);
    weak += is_weak;
    const absl::StatusOr<bool> maybe = sepal::filters::MayContain(*filter, password);
    if (!maybe.ok()) return example::Fail(maybe.status().ToString());
    refused += *maybe && server.IsWeak(password);
  }
  std::printf("%zu passwords: %llu calls, %.1f %% of them saved\n", kTries,
              static_cast<unsigned long long>(server.calls()),
              100 - 100.0 * static_cast<double>(server.calls()) / kTries);
  if (refused != weak) return example::Fail("a weak password was let through");
  const bool agrees = example::Agrees("calls for nothing", server.calls() - weak, kTries - weak,
                                      sepal::filters::Describe(*filter).false_positive_rate);
  return agrees ? 0 : example::Fail("that is not what theory says");
}
