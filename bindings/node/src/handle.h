// The addon's side of a SepalLevel object, and its work on libuv's thread pool.
//
// Writes and reads of single keys queue up: while some are running, later ones wait for the next turn, in which one job
// takes them all. So a program with many calls in flight pays for few thread switches, writes keep their order, and one
// sync serves all writes of a turn. Everything here except Job::Run is for the thread of JavaScript.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "src/node.h"
#include "src/shared_database.h"

namespace sepal_node {

class Handle;

// Work for the thread pool. It keeps its handle, and the handle open, until it is done.
class Job {
 public:
  explicit Job(std::shared_ptr<Handle> handle) : handle_(std::move(handle)) {}
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  virtual ~Job() = default;

  // False, with an exception, if Node accepts no work. `job` deletes itself.
  static bool Start(napi_env env, std::unique_ptr<Job> job);

 protected:
  // In a thread of the pool.
  virtual void Run() = 0;
  // In the thread of JavaScript, afterwards.
  virtual void Finish(napi_env env) = 0;

  const std::shared_ptr<Handle> handle_;

 private:
  static void RunWork(napi_env env, void* data);
  static void FinishWork(napi_env env, napi_status status, void* data);

  napi_async_work work_ = nullptr;
};

// A call with a promise of its own.
class PromiseJob : public Job {
 public:
  using Job::Job;

  // Returns the promise.
  static napi_value Start(napi_env env, std::unique_ptr<PromiseJob> job);

 protected:
  virtual absl::Status Call() = 0;
  virtual napi_value Result(napi_env env) { return Undefined(env); }
  void Finish(napi_env env) override;
  void FailWith(absl::Status status) { status_ = std::move(status); }

 private:
  friend class Handle;
  void Run() final { status_ = Call(); }

  napi_deferred deferred_ = nullptr;
  absl::Status status_;
};

// Settles a promise, unless the thread is being ended. A result that cannot be made rejects it.
void Settle(napi_env env, napi_deferred deferred, const absl::Status& status, napi_value result);

struct BatchState {
  static constexpr Kind kKind = Kind::kBatch;
  sepal::WriteBatch batch;
};

// A write that waits for its turn.
struct QueuedWrite {
  enum class What : uint8_t { kPut, kDelete, kBatch, kDeleteRange };
  What what = What::kPut;
  bool sync = false;
  bool has_end = false;    // of a range
  std::string key = {};    // or the first of a range
  std::string value = {};  // or the end of a range
  std::shared_ptr<const BatchState> batch = nullptr;
  napi_deferred deferred = nullptr;
  absl::Status status = {};
};

// A read of one key, as of now, that waits for its turn.
struct QueuedRead {
  bool exists_only = false;
  Form form = Form::kText;
  std::string key = {};
  napi_deferred deferred = nullptr;
};

class Handle : public std::enable_shared_from_this<Handle> {
 public:
  static constexpr Kind kKind = Kind::kHandle;

  Handle() = default;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  // Closes the database if it is open: the object was collected, or its thread ends.
  ~Handle();

  // Null: it is not open.
  sepal::DB* db() { return database_ == nullptr ? nullptr : &database_->db(); }
  void SetOpen(std::shared_ptr<SharedDatabase> database) { database_ = std::move(database); }
  // Returns the promise. The handle is no longer open from here on; the database is closed when queued and running work
  // has ended.
  napi_value Close(napi_env env);
  bool closing() const { return closing_ != nullptr; }

  // Return the promise of the call.
  napi_value Add(napi_env env, QueuedWrite write);
  napi_value Add(napi_env env, QueuedRead read);

 private:
  friend class Job;
  friend class WriteTurn;
  friend class ReadTurn;

  void JobStarts() { ++running_; }
  void JobEnds(napi_env env);
  bool StartWrites(napi_env env);
  bool StartReads(napi_env env);

  std::shared_ptr<SharedDatabase> database_;  // null: it is not open
  int running_ = 0;                           // jobs
  int reads_running_ = 0;
  bool writes_running_ = false;
  std::vector<QueuedWrite> writes_;
  std::deque<QueuedRead> reads_;
  std::unique_ptr<PromiseJob> closing_;  // starts when no job runs
};

// The handle of an argument if it is open; null with an exception.
Handle* TakeOpen(napi_env env, napi_value value);

}  // namespace sepal_node
