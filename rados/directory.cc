#include "rados/directory.h"

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "rados/lock.h"
#include "rados/open_files.h"
#include "rados/size_query.h"
#include "util/base/status.h"
#include "util/files/paths.h"

namespace sepal::rados {
namespace {

// A change of a name whose entry another call changes at the same time, the size of a file that is closed, is tried
// again.
constexpr int kTries = 8;

class RadosDirectory final : public Directory {
 public:
  RadosDirectory(std::shared_ptr<Space> space, std::string path) : space_(std::move(space)), path_(std::move(path)) {}

  Capabilities capabilities() const override {
    return {.hard_link = true, .remote = true, .outlives_process = false, .fences = true};
  }
  const std::string& path() const override { return path_; }
  std::string Identity() const override { return absl::StrCat(space_->client().identity(), space_->name()); }

  absl::StatusOr<std::unique_ptr<ReadableFile>> OpenForRead(std::string_view name, ReadMode mode) override;
  void ReadMany(std::span<ReadRequest> requests, const std::function<void(ReadRequest&)>& done) const override {
    ReadTogether(requests, done);
  }
  absl::StatusOr<std::unique_ptr<WritableFile>> OpenForWrite(std::string_view name, WriteMode mode,
                                                             FileUse use) override;
  // All are on their way before the first is waited for.
  absl::Status SyncMany(std::span<WritableFile* const> files) override {
    for (WritableFile* const file : files) RETURN_IF_ERROR(file->SyncRange(0, kWholeFile));
    return Directory::SyncMany(files);
  }
  absl::StatusOr<std::vector<DirectoryEntry>> List() override;
  absl::Status Remove(std::string_view name) override;
  absl::Status Rename(std::string_view from, std::string_view to) override;
  absl::Status Link(std::string_view name, Directory& target, std::string_view new_name) override;
  // Each change is durable once it is answered.
  absl::Status Sync() override { return space_->Lost(); }
  absl::StatusOr<std::unique_ptr<DirectoryLock>> Lock(std::string_view name, LockRequest request) override;
  absl::StatusOr<uint64_t> FreeBytes() override { return space_->client().FreeBytes().value_or(UINT64_MAX); }

 private:
  // A file whose size is on its way, where the index does not have it.
  struct AskedFile {
    Entry entry;
    std::shared_ptr<File> file;
    std::unique_ptr<SizeQuery> size;  // null: it is known
  };
  absl::StatusOr<AskedFile> Ask(std::string_view name, const Entry& entry, uint64_t known_bytes);
  std::string PathOf(std::string_view name) const { return absl::StrCat(path_, "/", ToAbsl(name)); }
  // `size`: -1 for a file that is going to be written.
  absl::StatusOr<Entry> Create(std::string_view name, int64_t size, FileUse use = {});
  absl::Status RenameOnce(std::string_view from, std::string_view to);
  absl::StatusOr<Entry> MakeShared(std::string_view name);
  absl::Status AddReference(const Entry& entry);
  // Calls until the index is as the call has read it.
  template <class Call>
  absl::Status Persist(const Call& call) {
    absl::Status status;
    for (int i = 0; i < kTries; ++i) {
      status = call();
      if (!absl::IsFailedPrecondition(status)) return status;
    }
    return absl::UnavailableError(absl::StrCat("another changes it at the same time: ", status.message()));
  }

  const std::shared_ptr<Space> space_;
  const std::string path_;
};

absl::StatusOr<std::unique_ptr<ReadableFile>> RadosDirectory::OpenForRead(std::string_view name, ReadMode mode) {
  RETURN_IF_ERROR(CheckFileName(path_, name));
  if (mode == ReadMode::kDirect) {
    return absl::UnimplementedError(absl::StrCat(PathOf(name), ": open: no direct reads on RADOS"));
  }
  AskedFile asked;
  if (const std::optional<Space::Growing> growing = space_->FindGrowing(name); growing.has_value()) {
    ASSIGN_OR_RETURN(asked, Ask(name, growing->entry, growing->bytes));
  }
  const absl::StatusOr<Entry> looked = space_->Look(name);
  if (!looked.ok() || looked->size >= 0) space_->ForgetGrowing(name);
  ASSIGN_OR_RETURN(const Entry entry, looked);
  if (asked.file == nullptr || asked.entry != entry) {
    asked = {};  // the file goes, if nobody else has it, and is made anew with what the index has of it now
    ASSIGN_OR_RETURN(asked, Ask(name, entry, 0));
  }
  RETURN_IF_ERROR(asked.file->LearnSize(asked.size.get()));
  if (entry.size < 0 && asked.size != nullptr) space_->NoteGrowing(name, entry, asked.file->Size());
  return MakeReader(std::move(asked.file), entry.size >= 0);
}

absl::StatusOr<RadosDirectory::AskedFile> RadosDirectory::Ask(std::string_view name, const Entry& entry,
                                                              uint64_t known_bytes) {
  ASSIGN_OR_RETURN(std::shared_ptr<File> file, space_->FileOf(name, entry));
  std::unique_ptr<SizeQuery> size = file->AskSize(known_bytes);
  return AskedFile{entry, std::move(file), std::move(size)};
}

absl::StatusOr<Entry> RadosDirectory::Create(std::string_view name, int64_t size, FileUse use) {
  const Entry entry = {.id = space_->client().NewId(),
                       .object_bytes = space_->client().options().object_bytes,
                       .size = size,
                       .ref = {},
                       .home = {},
                       .pool = space_->client().PoolFor(use.kind)};
  const absl::Status made = space_->Replace(name, nullptr, &entry);
  if (absl::IsFailedPrecondition(made)) {
    return absl::AlreadyExistsError(absl::StrCat(PathOf(name), ": create: the name is taken"));
  }
  RETURN_IF_ERROR(made);
  return entry;
}

absl::StatusOr<std::unique_ptr<WritableFile>> RadosDirectory::OpenForWrite(std::string_view name, WriteMode mode,
                                                                           FileUse use) {
  RETURN_IF_ERROR(CheckFileName(path_, name));
  Entry entry;
  if (mode == WriteMode::kCreateNew) {
    ASSIGN_OR_RETURN(entry, Create(name, -1, use));
  } else {
    RETURN_IF_ERROR(Persist([&]() -> absl::Status {
      ASSIGN_OR_RETURN(const Entry closed, space_->Look(name));
      entry = closed;
      entry.size = -1;
      return entry == closed ? space_->Lost() : space_->Replace(name, &closed, &entry);
    }));
  }
  ASSIGN_OR_RETURN(std::shared_ptr<File> file, space_->FileOf(name, entry));
  RETURN_IF_ERROR(file->BeginWriting(use, mode == WriteMode::kCreateNew));
  return MakeWriter(space_, std::move(file), entry);
}

// The sizes of files that are being written are asked for together: of those that were so before beside the index, of
// others behind it.
absl::StatusOr<std::vector<DirectoryEntry>> RadosDirectory::List() {
  std::map<std::string, AskedFile> asked;
  for (const auto& [name, growing] : space_->AllGrowing()) {
    ASSIGN_OR_RETURN(asked[name], Ask(name, growing.entry, growing.bytes));
  }
  ASSIGN_OR_RETURN(const auto names, space_->Names());
  for (const auto& [name, entry] : names) {
    if (entry.size >= 0) continue;
    AskedFile& file = asked[name];
    if (file.file != nullptr && file.entry == entry) continue;
    ASSIGN_OR_RETURN(file, Ask(name, entry, 0));
  }
  std::vector<DirectoryEntry> entries;
  std::map<std::string, Space::Growing, std::less<>> growing;
  for (const auto& [name, entry] : names) {
    uint64_t size = static_cast<uint64_t>(std::max<int64_t>(entry.size, 0));
    if (entry.size < 0) {
      const AskedFile& file = asked.at(name);
      RETURN_IF_ERROR(file.file->LearnSize(file.size.get()));
      size = file.file->Size();
      if (file.size != nullptr) growing[name] = {entry, size};
    }
    entries.push_back({.name = name, .size_bytes = size});
  }
  space_->SetGrowing(std::move(growing));
  return entries;
}

absl::Status RadosDirectory::Remove(std::string_view name) {
  RETURN_IF_ERROR(CheckFileName(path_, name));
  RETURN_IF_ERROR(space_->Lost());
  Entry entry;
  RETURN_IF_ERROR(Persist([&]() -> absl::Status {
    ASSIGN_OR_RETURN(entry, space_->Look(name));
    return space_->Replace(name, &entry, nullptr);
  }));
  if (const std::shared_ptr<File> file = space_->client().FindFile(entry.id); file != nullptr) {
    file->NoteRemoved(space_->name(), entry);
    return absl::OkStatus();
  }
  space_->client().Bury(space_->name(), entry, ObjectsOf(entry));
  return absl::OkStatus();
}

absl::Status RadosDirectory::RenameOnce(std::string_view from, std::string_view to) {
  ASSIGN_OR_RETURN(const Entry entry, space_->Look(from));
  const absl::StatusOr<Entry> taken = space_->Look(to);
  if (taken.ok()) return absl::AlreadyExistsError(absl::StrCat(PathOf(to), ": rename: the name is taken"));
  if (!absl::IsNotFound(taken.status())) return taken.status();
  RETURN_IF_ERROR(space_->Rename(from, to, entry));
  if (const std::shared_ptr<File> file = space_->client().FindFile(entry.id); file != nullptr) file->NoteRenamed(to);
  return absl::OkStatus();
}

absl::Status RadosDirectory::Rename(std::string_view from, std::string_view to) {
  RETURN_IF_ERROR(CheckFileName(path_, from));
  RETURN_IF_ERROR(CheckFileName(path_, to));
  RETURN_IF_ERROR(space_->Lost());
  return Persist([&] { return RenameOnce(from, to); });
}

// The entry of `name`, which from now on can have others beside it.
absl::StatusOr<Entry> RadosDirectory::MakeShared(std::string_view name) {
  Client& client = space_->client();
  Entry shared;
  const absl::Status kept = Persist([&]() -> absl::Status {
    ASSIGN_OR_RETURN(const Entry entry, space_->Look(name));
    shared = entry;
    if (!entry.ref.empty()) return absl::OkStatus();
    shared.ref = client.NewId();
    ASSIGN_OR_RETURN(const rados_ioctx_t home, client.IoFor(entry.home.empty() ? space_->name() : entry.home));
    WriteOp op;
    // What an earlier call left, which died before the name had its reference, says the same.
    op.Create(/*exclusive=*/false);
    op.Set({{"c", "1"}, {shared.ref, "1"}});
    ++client.counts.index_writes;
    RETURN_IF_ERROR(client.Note(op.Run(home, RefsObject(entry.id)), PathOf(name)));
    return space_->Replace(name, &entry, &shared);
  });
  RETURN_IF_ERROR(kept);
  return shared;
}

absl::Status RadosDirectory::AddReference(const Entry& entry) {
  Client& client = space_->client();
  ASSIGN_OR_RETURN(const rados_ioctx_t home, client.IoFor(entry.home));
  const std::string object = RefsObject(entry.id);
  return Persist([&]() -> absl::Status {
    ++client.counts.index_reads;
    ASSIGN_OR_RETURN(Omap found, ReadKeys(home, object, {"c"}));
    uint64_t count = 0;
    if (!absl::SimpleAtoi(found["c"], &count) || count == 0) {
      return absl::NotFoundError(absl::StrCat(object, ": the file is being removed"));
    }
    WriteOp op;
    op.MustExist();
    op.Compare("c", found["c"]);
    op.Set({{"c", absl::StrCat(count + 1)}, {entry.ref, "1"}});
    ++client.counts.index_writes;
    const int code = op.Run(home, object);
    if (code == -ECANCELED) return absl::FailedPreconditionError(object);
    return client.Note(code, object);
  });
}

absl::Status RadosDirectory::Link(std::string_view name, Directory& target, std::string_view new_name) {
  auto* const other = dynamic_cast<RadosDirectory*>(&target);
  if (other == nullptr || other->space_->client().identity() != space_->client().identity()) {
    return Directory::Link(name, target, new_name);
  }
  RETURN_IF_ERROR(CheckFileName(path_, name));
  RETURN_IF_ERROR(CheckFileName(other->path_, new_name));
  RETURN_IF_ERROR(space_->Lost());
  const absl::StatusOr<Entry> taken = other->space_->Look(new_name);
  if (taken.ok()) return absl::AlreadyExistsError(absl::StrCat(other->PathOf(new_name), ": link: the name is taken"));
  if (!absl::IsNotFound(taken.status())) return taken.status();
  ASSIGN_OR_RETURN(Entry entry, MakeShared(name));
  entry.ref = space_->client().NewId();
  if (entry.home.empty()) entry.home = space_->name();
  RETURN_IF_ERROR(AddReference(entry));
  const absl::Status linked = other->space_->Replace(new_name, nullptr, &entry);
  if (linked.ok()) return linked;
  other->space_->client().Bury(other->space_->name(), entry, 0);  // the reference
  if (!absl::IsFailedPrecondition(linked)) return linked;
  return absl::AlreadyExistsError(absl::StrCat(other->PathOf(new_name), ": link: the name is taken"));
}

absl::StatusOr<std::unique_ptr<DirectoryLock>> RadosDirectory::Lock(std::string_view name, LockRequest request) {
  RETURN_IF_ERROR(CheckFileName(path_, name));
  RETURN_IF_ERROR(space_->Lost());
  absl::StatusOr<Entry> file = space_->Look(name);
  if (absl::IsNotFound(file.status())) {
    file = Create(name, 0);
    if (absl::IsAlreadyExists(file.status())) file = space_->Look(name);
  }
  RETURN_IF_ERROR(file.status());
  absl::StatusOr<std::unique_ptr<DirectoryLock>> lock = TakeLock(space_, name, *file, request);
  if (lock.ok()) return lock;
  return Annotate(lock.status(), path_);
}

}  // namespace

std::unique_ptr<Directory> MakeDirectory(std::shared_ptr<Space> space, std::string path) {
  return std::make_unique<RadosDirectory>(std::move(space), std::move(path));
}

namespace {

absl::Status ListObjects(Space& space, rados_ioctx_t io, std::vector<Stray>* objects) {
  rados_list_ctx_t list = nullptr;
  RETURN_IF_ERROR(space.client().Note(rados_nobjects_list_open(io, &list), space.name()));
  const char* object = nullptr;
  int code = 0;
  while ((code = rados_nobjects_list_next(list, &object, nullptr, nullptr)) == 0) objects->push_back({io, object});
  rados_nobjects_list_close(list);
  return code == -ENOENT ? absl::OkStatus() : space.client().Note(code, space.name());
}

}  // namespace

absl::StatusOr<std::vector<Stray>> FindStrays(Space& space) {
  std::vector<Stray> strays;
  std::set<std::string> known;
  // The objects first: what is made meanwhile is not taken for a stray.
  std::vector<Stray> objects;
  RETURN_IF_ERROR(ListObjects(space, space.io(), &objects));
  if (const int64_t pool = space.client().PoolFor(FileUseKind::kTable); pool != kOwnPool) {
    ASSIGN_OR_RETURN(const rados_ioctx_t data, space.client().IoFor(space.name(), pool));
    RETURN_IF_ERROR(ListObjects(space, data, &objects));
  }
  ASSIGN_OR_RETURN(const Omap index, space.ReadIndex(""));
  for (const auto& [key, value] : index) {
    if (!key.starts_with("n:") && !key.starts_with("d:")) continue;
    ASSIGN_OR_RETURN(const Entry entry, DecodeEntry(value));
    known.insert(entry.id);
  }
  for (const Stray& each : objects) {
    if (each.object == kIndexObject) continue;
    const std::string id(IdOfObject(each.object));
    if (known.contains(id)) continue;
    // Other directories may have references to it.
    const absl::StatusOr<Omap> refs = ReadKeys(space.io(), RefsObject(id), {"c"});
    if (refs.ok() && refs->contains("c") && refs->at("c") != "0") continue;
    if (!refs.ok() && !absl::IsNotFound(refs.status())) return refs.status();
    strays.push_back(each);
  }
  return strays;
}

}  // namespace sepal::rados
