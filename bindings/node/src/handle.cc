#include "src/handle.h"

#include <algorithm>

namespace sepal_node {

// --- jobs ---

bool Job::Start(napi_env env, std::unique_ptr<Job> job) {
  napi_value name = nullptr;
  if (napi_create_string_latin1(env, "sepal-level", NAPI_AUTO_LENGTH, &name) != napi_ok ||
      napi_create_async_work(env, nullptr, name, RunWork, FinishWork, job.get(), &job->work_) != napi_ok) {
    return false;
  }
  if (napi_queue_async_work(env, job->work_) != napi_ok) {
    napi_delete_async_work(env, job->work_);
    return false;
  }
  job->handle_->JobStarts();
  static_cast<void>(job.release());  // FinishWork takes it
  return true;
}

void Job::RunWork(napi_env, void* data) { static_cast<Job*>(data)->Run(); }

void Job::FinishWork(napi_env env, napi_status, void* data) {
  const std::unique_ptr<Job> job(static_cast<Job*>(data));
  napi_delete_async_work(env, job->work_);
  job->Finish(env);
  job->handle_->JobEnds(env);
}

void Settle(napi_env env, napi_deferred deferred, const absl::Status& status, napi_value result) {
  if (status.ok() && result != nullptr) {
    napi_resolve_deferred(env, deferred, result);
    return;
  }
  napi_value error = nullptr;
  bool pending = false;
  napi_is_exception_pending(env, &pending);
  if (pending) napi_get_and_clear_last_exception(env, &error);
  if (!status.ok()) error = ErrorOf(env, status);
  if (error == nullptr) error = ErrorOf(env, absl::InternalError("Node made no object of the result"));
  napi_reject_deferred(env, deferred, error);
}

napi_value PromiseJob::Start(napi_env env, std::unique_ptr<PromiseJob> job) {
  napi_value promise = nullptr;
  if (napi_create_promise(env, &job->deferred_, &promise) != napi_ok) return nullptr;
  return Job::Start(env, std::move(job)) ? promise : nullptr;
}

void PromiseJob::Finish(napi_env env) { Settle(env, deferred_, status_, status_.ok() ? Result(env) : nullptr); }

// --- turns of queued writes and reads ---

class WriteTurn : public Job {
 public:
  WriteTurn(std::shared_ptr<Handle> handle, std::vector<QueuedWrite> writes)
      : Job(std::move(handle)), writes_(std::move(writes)), db_(*handle_->db()) {}

 private:
  void Run() override {
    const bool alone = writes_.size() == 1;
    bool sync_all = false;
    for (QueuedWrite& write : writes_) {
      write.status = Apply(write, {.sync = write.sync && alone});
      sync_all |= write.sync && !alone && write.status.ok();
    }
    if (!sync_all) return;
    const absl::Status synced = db_.Sync();
    for (QueuedWrite& write : writes_) {
      if (write.sync && write.status.ok()) write.status = synced;
    }
  }

  absl::Status Apply(const QueuedWrite& write, const sepal::WriteOptions& options) {
    switch (write.what) {
      case QueuedWrite::What::kPut:
        return db_.Put(write.key, write.value, options);
      case QueuedWrite::What::kDelete:
        return db_.Delete(write.key, options);
      case QueuedWrite::What::kBatch:
        return db_.Write(write.batch->batch, options);
      case QueuedWrite::What::kDeleteRange: {
        std::optional<std::string_view> end;
        if (write.has_end) end = write.value;
        return db_.DeleteRange(write.key, end, options);
      }
    }
    return absl::InternalError("a write of no kind");
  }

  void Finish(napi_env env) override {
    const napi_value done = Undefined(env);
    for (const QueuedWrite& write : writes_) {
      napi_handle_scope scope = nullptr;
      if (napi_open_handle_scope(env, &scope) != napi_ok) break;
      Settle(env, write.deferred, write.status, done);
      napi_close_handle_scope(env, scope);
    }
    handle_->writes_running_ = false;
    handle_->StartWrites(env);
  }

  std::vector<QueuedWrite> writes_;
  sepal::DB& db_;
};

class ReadTurn : public Job {
 public:
  ReadTurn(std::shared_ptr<Handle> handle, std::vector<QueuedRead> reads)
      : Job(std::move(handle)),
        reads_(std::move(reads)),
        values_(reads_.size()),
        statuses_(reads_.size()),
        db_(*handle_->db()) {}

 private:
  void Run() override {
    if (reads_.size() == 1) {
      statuses_[0] = db_.Get(reads_[0].key, values_[0]);
      return;
    }
    std::vector<std::string_view> keys;
    keys.reserve(reads_.size());
    for (const QueuedRead& read : reads_) keys.push_back(read.key);
    // The statuses have the first error, too.
    static_cast<void>(db_.MultiGet(keys, values_, statuses_));
  }

  void Finish(napi_env env) override {
    for (size_t i = 0; i < reads_.size(); ++i) SettleOne(env, i);
    --handle_->reads_running_;
    handle_->StartReads(env);
  }

  void SettleOne(napi_env env, size_t i) {
    napi_handle_scope scope = nullptr;
    if (napi_open_handle_scope(env, &scope) != napi_ok) return;
    const bool found = statuses_[i].ok();
    const absl::Status status = absl::IsNotFound(statuses_[i]) ? absl::OkStatus() : statuses_[i];
    napi_value result = nullptr;
    if (status.ok() && reads_[i].exists_only) {
      napi_get_boolean(env, found, &result);
    } else if (status.ok()) {
      result = found ? ToJs(env, values_[i].value(), reads_[i].form) : Undefined(env);
    }
    Settle(env, reads_[i].deferred, status, result);
    napi_close_handle_scope(env, scope);
  }

  std::vector<QueuedRead> reads_;
  std::vector<sepal::PinnedValue> values_;
  std::vector<absl::Status> statuses_;
  sepal::DB& db_;
};

// --- handles ---

Handle::~Handle() {
  // An error has no receiver any more.
  if (database_ != nullptr) static_cast<void>(database_->Close());
}

napi_value Handle::Add(napi_env env, QueuedWrite write) {
  napi_value promise = nullptr;
  if (napi_create_promise(env, &write.deferred, &promise) != napi_ok) return nullptr;
  writes_.push_back(std::move(write));
  return StartWrites(env) ? promise : nullptr;
}

bool Handle::StartWrites(napi_env env) {
  if (writes_running_ || writes_.empty()) return true;
  writes_running_ = Job::Start(env, std::make_unique<WriteTurn>(shared_from_this(), std::move(writes_)));
  writes_.clear();
  return writes_running_;
}

napi_value Handle::Add(napi_env env, QueuedRead read) {
  napi_value promise = nullptr;
  if (napi_create_promise(env, &read.deferred, &promise) != napi_ok) return nullptr;
  reads_.push_back(std::move(read));
  return StartReads(env) ? promise : nullptr;
}

bool Handle::StartReads(napi_env env) {
  // Two turns, so that the thread of JavaScript creates the objects of one while the other reads.
  constexpr int kTurns = 2;
  constexpr size_t kMostInTurn = 256;
  while (reads_running_ < kTurns && !reads_.empty()) {
    const auto end = reads_.begin() + static_cast<ptrdiff_t>(std::min(reads_.size(), kMostInTurn));
    std::vector<QueuedRead> turn(std::make_move_iterator(reads_.begin()), std::make_move_iterator(end));
    reads_.erase(reads_.begin(), end);
    if (!Job::Start(env, std::make_unique<ReadTurn>(shared_from_this(), std::move(turn)))) return false;
    ++reads_running_;
  }
  return true;
}

namespace {

class CloseJob : public PromiseJob {
 public:
  CloseJob(std::shared_ptr<Handle> handle, std::shared_ptr<SharedDatabase> database)
      : PromiseJob(std::move(handle)), database_(std::move(database)) {}

 private:
  absl::Status Call() override { return database_->Close(); }

  const std::shared_ptr<SharedDatabase> database_;
};

}  // namespace

napi_value Handle::Close(napi_env env) {
  auto job = std::make_unique<CloseJob>(shared_from_this(), database_);
  napi_value promise = nullptr;
  if (napi_create_promise(env, &job->deferred_, &promise) != napi_ok) return nullptr;
  closing_ = std::move(job);
  if (running_ == 0) {
    ++running_;
    JobEnds(env);
  }
  return promise;
}

void Handle::JobEnds(napi_env env) {
  if (--running_ > 0 || closing_ == nullptr) return;
  std::unique_ptr<PromiseJob> job = std::move(closing_);
  // If Node accepts no more work, the destructor closes the database.
  if (Job::Start(env, std::move(job))) database_ = nullptr;
}

Handle* TakeOpen(napi_env env, napi_value value) {
  Handle* const handle = Take<Handle>(env, value);
  if (handle == nullptr) return nullptr;
  if (handle->db() == nullptr || handle->closing()) return ThrowClosed(env);
  return handle;
}

}  // namespace sepal_node
