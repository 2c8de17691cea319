// Env::Default().
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "compat/leveldb/convert.h"
#include "compat/leveldb/posix_files.h"
#include "sepal/env.h"
#include "util/thread/sync.h"

namespace sepal::compat {

namespace {

using leveldb::Status;

Status Result(int returned, const std::string& name) { return returned == 0 ? Status() : PosixError(name, errno); }

struct PosixFileLock final : leveldb::FileLock {
  std::string name;
  int descriptor = -1;
};

class PosixEnv final : public leveldb::Env {
 public:
  // Files.
  Status NewSequentialFile(const std::string& name, leveldb::SequentialFile** file) override {
    return OpenSequential(name, file);
  }
  Status NewRandomAccessFile(const std::string& name, leveldb::RandomAccessFile** file) override {
    return OpenRandomAccess(name, file);
  }
  Status NewWritableFile(const std::string& name, leveldb::WritableFile** file) override {
    return OpenWritable(name, /*keep=*/false, file);
  }
  Status NewAppendableFile(const std::string& name, leveldb::WritableFile** file) override {
    return OpenWritable(name, /*keep=*/true, file);
  }
  Status NewLogger(const std::string& name, leveldb::Logger** logger) override { return OpenLogger(name, logger); }

  // Names.
  bool FileExists(const std::string& name) override { return ::access(name.c_str(), F_OK) == 0; }
  Status GetChildren(const std::string& directory, std::vector<std::string>* names) override {
    names->clear();
    DIR* const open = ::opendir(directory.c_str());
    if (open == nullptr) return PosixError(directory, errno);
    while (const dirent* const entry = ::readdir(open)) names->emplace_back(entry->d_name);
    ::closedir(open);
    return Status();
  }
  Status RemoveFile(const std::string& name) override { return Result(::unlink(name.c_str()), name); }
  Status CreateDir(const std::string& name) override { return Result(::mkdir(name.c_str(), 0755), name); }
  Status RemoveDir(const std::string& name) override { return Result(::rmdir(name.c_str()), name); }
  Status RenameFile(const std::string& from, const std::string& to) override {
    return Result(std::rename(from.c_str(), to.c_str()), from);
  }
  Status GetFileSize(const std::string& name, uint64_t* size) override {
    struct stat found = {};
    const Status status = Result(::stat(name.c_str(), &found), name);
    *size = status.ok() ? static_cast<uint64_t>(found.st_size) : 0;
    return status;
  }

  Status LockFile(const std::string& name, leveldb::FileLock** lock) override;
  Status UnlockFile(leveldb::FileLock* lock) override;

  void Schedule(void (*function)(void*), void* argument) override;
  void StartThread(void (*function)(void*), void* argument) override {
    MutexLock lock(&mutex_);
    threads_.emplace_back([function, argument] { function(argument); });
  }

  Status GetTestDirectory(std::string* path) override {
    const char* const wanted = std::getenv("TEST_TMPDIR");
    *path = wanted != nullptr && *wanted != '\0' ? std::string(wanted) : absl::StrCat("/tmp/leveldbtest-", ::geteuid());
    (void)CreateDir(*path);  // it may be there
    return Status();
  }
  uint64_t NowMicros() override { return Clock::System()->UnixMicros(); }
  void SleepForMicroseconds(int micros) override {
    if (micros > 0) Thread::SleepMicros(static_cast<uint64_t>(micros));
  }

 private:
  using Work = std::pair<void (*)(void*), void*>;

  Work NextWork() ABSL_LOCKS_EXCLUDED(mutex_);

  Mutex mutex_;
  CondVar scheduled_;
  bool works_ ABSL_GUARDED_BY(mutex_) = false;  // there is a thread for `work_`
  std::deque<Work> work_ ABSL_GUARDED_BY(mutex_);
  // They run until the process ends, as the environment does.
  std::deque<Thread> threads_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> locked_ ABSL_GUARDED_BY(mutex_);
};

// The system's lock is the process's: a second one of the same process must be refused here.
Status PosixEnv::LockFile(const std::string& name, leveldb::FileLock** lock) {
  *lock = nullptr;
  const int descriptor = ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0) return PosixError(name, errno);
  MutexLock guard(&mutex_);
  if (!locked_.insert(name).second) {
    ::close(descriptor);
    return Status::IOError("lock " + name, "already held by process");
  }
  struct flock whole = {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (::fcntl(descriptor, F_SETLK, &whole) != 0) {
    const int error = errno;
    ::close(descriptor);
    locked_.erase(name);
    return PosixError("lock " + name, error);
  }
  auto* const made = new PosixFileLock;
  made->name = name;
  made->descriptor = descriptor;
  *lock = made;
  return Status();
}

Status PosixEnv::UnlockFile(leveldb::FileLock* lock) {
  auto* const made = static_cast<PosixFileLock*>(lock);
  MutexLock guard(&mutex_);
  locked_.erase(made->name);
  const Status closed = Result(::close(made->descriptor), "unlock " + made->name);
  delete made;
  return closed;
}

PosixEnv::Work PosixEnv::NextWork() {
  MutexLock lock(&mutex_);
  while (work_.empty()) scheduled_.Wait(&mutex_);
  const Work next = work_.front();
  work_.pop_front();
  return next;
}

void PosixEnv::Schedule(void (*function)(void*), void* argument) {
  MutexLock lock(&mutex_);
  work_.emplace_back(function, argument);
  scheduled_.NotifyOne();
  if (std::exchange(works_, true)) return;
  threads_.emplace_back([this] {
    for (;;) {
      const auto [run, with] = NextWork();
      run(with);
    }
  });
}

}  // namespace

}  // namespace sepal::compat

namespace leveldb {

Env* Env::Default() {
  static Env* const env = new sepal::compat::PosixEnv;
  return env;
}

void Log(Logger* info_log, const char* format, ...) {
  if (info_log == nullptr) return;
  std::va_list arguments;
  va_start(arguments, format);
  info_log->Logv(format, arguments);
  va_end(arguments);
}

Status WriteStringToFile(Env* env, const Slice& data, const std::string& fname) {
  WritableFile* file;
  Status status = env->NewWritableFile(fname, &file);
  if (!status.ok()) return status;
  status = file->Append(data);
  if (status.ok()) status = file->Close();
  delete file;
  if (!status.ok()) (void)env->RemoveFile(fname);
  return status;
}

Status ReadFileToString(Env* env, const std::string& fname, std::string* data) {
  constexpr size_t kPartBytes = 8192;
  data->clear();
  SequentialFile* file;
  Status status = env->NewSequentialFile(fname, &file);
  if (!status.ok()) return status;
  std::string scratch(kPartBytes, '\0');
  Slice part;
  do {
    part.clear();
    status = file->Read(kPartBytes, &part, scratch.data());
    data->append(part.data(), part.size());
  } while (status.ok() && !part.empty());
  delete file;
  return status;
}

}  // namespace leveldb
