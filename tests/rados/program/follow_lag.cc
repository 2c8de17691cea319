// How old the view of a reader is that follows its writer: `follow_lag DIRECTORY [PUTS_A_SECOND [SECONDS
// [PERIOD_MS]]]`.
//
// DIRECTORY must not exist. If it does not begin with a slash, it is in the cluster that the environment names
// (tests/rados/cluster.h), and writer and reader have a client each. The writer puts entries of 16 + 100 bytes without
// `sync`, as many a second as told (100,000), and the reader follows each PERIOD_MS (10). A thread asks the reader each
// millisecond for the newest entry that it shows: the view's age is the time since the next one was put.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "sepal/db.h"
#include "sepal/rados.h"
#include "tests/rados/cluster.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

// One entry in so many tells which it is.
constexpr uint64_t kPutsPerMark = 20;

uint64_t NowMicros() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

template <class T>
T Check(absl::StatusOr<T> result) {
  if (result.ok()) return *std::move(result);
  std::fprintf(stderr, "%s\n", result.status().ToString().c_str());
  std::exit(1);
}

class Run {
 public:
  Run(DB* writer, DB* reader, uint64_t rate, uint64_t seconds)
      : writer_(writer), reader_(reader), rate_(rate), marks_(rate * seconds / kPutsPerMark) {}

  void Measure() {
    Thread asking([this] { Ask(); });
    Write();
    done_.store(true);
  }
  void Print() {
    std::sort(ages_.begin(), ages_.end());
    const auto at = [&](double share) {
      return static_cast<double>(ages_[static_cast<size_t>(share * static_cast<double>(ages_.size() - 1))]) / 1000;
    };
    absl::PrintF("%d puts in %.2f s, %d samples of the view's age, ms: p50 %.1f, p99 %.1f, max %.1f\n",
                 marks_.size() * kPutsPerMark, static_cast<double>(took_micros_) / 1e6, ages_.size(), at(0.5), at(0.99),
                 at(1));
  }

 private:
  void Write() {
    const std::string value(100, 'v');
    const uint64_t begin = NowMicros();
    for (uint64_t mark = 0; mark < marks_.size(); ++mark) {
      const uint64_t first = mark * kPutsPerMark;
      for (uint64_t i = first; i + 1 < first + kPutsPerMark; ++i) {
        if (!writer_->Put(absl::StrFormat("%016u", i * 7919 % 1'000'000), value).ok()) std::exit(1);
      }
      if (!writer_->Put("newest", absl::StrFormat("%0100u", mark)).ok()) std::exit(1);
      marks_[mark].store(NowMicros(), std::memory_order_release);
      const uint64_t due = begin + (first + kPutsPerMark) * 1'000'000 / rate_;
      while (NowMicros() < due) Wait(50);
    }
    took_micros_ = NowMicros() - begin;
  }
  void Ask() {
    while (!done_.load()) {
      Wait(1000);
      const absl::StatusOr<std::string> newest = reader_->Get("newest");
      uint64_t mark = 0;
      if (!newest.ok() || !absl::SimpleAtoi(*newest, &mark) || mark + 1 >= marks_.size()) continue;
      const uint64_t next = marks_[mark + 1].load(std::memory_order_acquire);
      const uint64_t now = NowMicros();
      ages_.push_back(next == 0 || next > now ? 0 : now - next);
    }
  }
  void Wait(uint64_t micros) {
    Mutex mutex;
    CondVar never;
    MutexLock lock(&mutex);
    never.WaitFor(&mutex, micros);
  }

  DB* const writer_;
  DB* const reader_;
  const uint64_t rate_;
  std::vector<std::atomic<uint64_t>> marks_;
  std::vector<uint64_t> ages_;
  uint64_t took_micros_ = 0;
  std::atomic<bool> done_{false};
};

absl::StatusOr<std::unique_ptr<FileSystem>> Connect() {
  absl::StatusOr<std::unique_ptr<RadosFileSystem>> rados = RadosFileSystem::Connect(ClusterOptions());
  if (!rados.ok()) return rados.status();
  return *std::move(rados);
}

int Main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "follow_lag DIRECTORY [PUTS_A_SECOND [SECONDS [PERIOD_MS]]]\n");
    return 2;
  }
  const auto number = [&](int i, uint64_t otherwise) {
    return argc > i ? std::strtoull(argv[i], nullptr, 10) : otherwise;
  };
  const std::string path = argv[1];
  std::unique_ptr<FileSystem> clients[2];
  for (std::unique_ptr<FileSystem>& client : clients) {
    if (!path.starts_with('/')) client = Check(Connect());
  }
  const auto open = [&](const Options& options) { return Check(DB::Open(options, path)); };
  Options options;
  options.create_if_missing = options.error_if_exists = true;
  if (clients[0] != nullptr) options.env.file_system = clients[0].get();
  const std::unique_ptr<DB> writer = open(options);
  Options reads;
  reads.read_only = true;
  reads.follow_milliseconds = number(4, 10);
  if (clients[1] != nullptr) reads.env.file_system = clients[1].get();
  const std::unique_ptr<DB> reader = open(reads);
  Run run(writer.get(), reader.get(), number(2, 100'000), number(3, 20));
  run.Measure();
  run.Print();
  if (clients[1] != nullptr) {
    const RadosCounts c = static_cast<RadosFileSystem*>(clients[1].get())->Counts();
    absl::PrintF("the reader's calls: %d reads of the index, %d of data, %d queries of sizes\n", c.index_reads,
                 c.data_reads, c.size_queries);
  }
  std::printf("%s", reader->GetProperty("sepal.follow").value_or("").c_str());
  return 0;
}

}  // namespace
}  // namespace sepal

int main(int argc, char** argv) { return sepal::Main(argc, argv); }
