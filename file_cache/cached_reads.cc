#include "file_cache/cached_reads.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace sepal::file_cache {
namespace {

// Part of a read: the bytes of one page.
struct Part {
  PageName name;
  PageStore::Place place;
  uint64_t number = 0;
  char* into = nullptr;  // receives the whole page
  bool copied = false;   // from there to where it is wanted
  bool begins = false;   // a local read; otherwise it lies behind the page before, and is read with it
};

// One read of a file: its pages come from the store, but for one range of them, which holds all that are missing and is
// read at once.
class PagedRead {
 public:
  PagedRead(const CachedReader& reader, uint64_t offset, size_t length, char* buffer)
      : reader_(reader), offset_(offset), buffer_(buffer) {
    length_ = offset < reader.bytes() ? std::min<uint64_t>(length, reader.bytes() - offset) : 0;
  }

  size_t length() const { return length_; }
  bool complete() const { return missing_begin_ == missing_end_; }

  // Finds out what is missing, and prepares the reads of the rest.
  void Begin() {
    if (length_ == 0) return;
    uint64_t misses = 0;
    for (uint64_t number = offset_ / kPageBytes; number * kPageBytes < offset_ + length_; ++number) {
      Part part;
      part.name = NameOf(reader_.file().key, number, reader_.bytes());
      part.number = number;
      const std::optional<PageStore::Place> place = reader_.store().Find(part.name);
      if (!place.has_value()) {
        ++misses;
        Miss(number);
        continue;
      }
      part.place = *place;
      parts_.push_back(std::move(part));
    }
    reader_.store().CountMisses(misses);
    std::erase_if(parts_, [this](const Part& part) { return IsMissing(part.number); });
    for (Part& part : parts_) Prepare(&part);
  }
  // Pages that follow each other here and there are read at once, as those are that one writer staged.
  void AddLocalReads(std::vector<ReadRequest>* requests) {
    const Part* last = nullptr;
    for (Part& part : parts_) {
      part.begins = last == nullptr || last->place.slot + 1 != part.place.slot || last->into + kPageBytes != part.into;
      if (part.begins) {
        requests->push_back(reader_.store().RequestFor(part.place, part.name, part.into));
      } else {
        requests->back().length += part.name.length;
      }
      last = &part;
    }
  }
  // `results`: of the local reads, which it steps over.
  void TakeLocalReads(const ReadRequest** results) {
    uint64_t hits = 0;
    size_t left = 0;  // of what the local read gave
    for (const Part& part : parts_) {
      if (part.begins) {
        const ReadRequest& result = *(*results)++;
        left = result.status.ok() ? result.bytes_read : 0;
      }
      const size_t got = std::min<size_t>(left, part.name.length);
      left -= got;
      if (reader_.store().Verify(part.place, part.name, {part.into, got})) {
        ++hits;
        if (part.copied) Deliver(part.number * kPageBytes, {part.into, got});
      } else {
        Miss(part.number);
      }
    }
    reader_.store().CountHits(hits);
    reader_.store().CountMisses(parts_.size() - hits);
  }

  // Of the range that is missing.
  ReadRequest RemoteRead() {
    const uint64_t begin = missing_begin_ * kPageBytes;
    const size_t bytes = std::min<uint64_t>(missing_end_ * kPageBytes, reader_.bytes()) - begin;
    fetched_ = std::make_unique_for_overwrite<char[]>(bytes);
    return {.file = &reader_.base(), .offset = begin, .length = bytes, .buffer = fetched_.get()};
  }
  // Keeps the pages. What cannot be had with whole pages is read without; but not of many, where nobody may answer, and
  // each would wait as long as all together have waited.
  absl::StatusOr<size_t> TakeRemoteRead(const ReadRequest& result, bool among_many) {
    if (among_many && !result.status.ok()) return result.status;
    if (!result.status.ok() || result.bytes_read != result.length) {
      return reader_.base().Read(offset_, length_, buffer_);
    }
    const std::string_view bytes(result.buffer, result.length);
    Deliver(result.offset, bytes);
    for (uint64_t number = missing_begin_; number < missing_end_; ++number) {
      Keep(number, bytes.substr((number - missing_begin_) * kPageBytes, kPageBytes));
    }
    return length_;
  }

 private:
  void Miss(uint64_t number) {
    missing_begin_ = complete() ? number : std::min(missing_begin_, number);
    missing_end_ = std::max(missing_end_, number + 1);
  }
  bool IsMissing(uint64_t number) const { return missing_begin_ <= number && number < missing_end_; }

  // A page that is wanted whole goes where it is wanted.
  void Prepare(Part* part) {
    const uint64_t begin = part->number * kPageBytes;
    if (begin >= offset_ && begin + part->name.length <= offset_ + length_) {
      part->into = buffer_ + (begin - offset_);
    } else {
      if (ends_ == nullptr) ends_ = std::make_unique_for_overwrite<char[]>(2 * kPageBytes);
      part->into = ends_.get() + kPageBytes * ends_used_++;
      part->copied = true;
    }
  }

  // What is wanted of the bytes at `begin`.
  void Deliver(uint64_t begin, std::string_view bytes) {
    const uint64_t from = std::max(begin, offset_);
    const uint64_t to = std::min<uint64_t>(begin + bytes.size(), offset_ + length_);
    std::memcpy(buffer_ + (from - offset_), bytes.data() + (from - begin), to - from);
  }

  void Keep(uint64_t number, std::string_view page) {
    if (!reader_.keeps()) return;
    reader_.store().Put(NameOf(reader_.file().key, number, reader_.bytes()), page);
    // It may have gone since, and its pages have been dropped before this one came.
    if (!reader_.keeps()) reader_.store().Forget(reader_.file().key, reader_.bytes()).IgnoreError();
  }

  const CachedReader& reader_;
  const uint64_t offset_;
  size_t length_ = 0;
  char* const buffer_;
  uint64_t missing_begin_ = 0;
  uint64_t missing_end_ = 0;
  std::vector<Part> parts_;
  std::unique_ptr<char[]> ends_;  // the first and the last page, if they are not wanted whole
  size_t ends_used_ = 0;
  std::unique_ptr<char[]> fetched_;
};

// What is in the store, for all of them at once. They have one store.
void ReadLocally(std::span<PagedRead> reads, const PageStore* store) {
  std::vector<ReadRequest> requests;
  for (PagedRead& read : reads) {
    read.Begin();
    read.AddLocalReads(&requests);
  }
  if (!requests.empty()) store->ReadMany(requests);
  const ReadRequest* results = requests.data();
  for (PagedRead& read : reads) read.TakeLocalReads(&results);
}

}  // namespace

absl::StatusOr<size_t> CachedReader::Read(uint64_t offset, size_t length, char* buffer) const {
  if (!keeps()) return base_->Read(offset, length, buffer);
  PagedRead read(*this, offset, length, buffer);
  ReadLocally({&read, 1}, store_.get());
  if (read.complete()) return read.length();
  ReadRequest remote = read.RemoteRead();
  const absl::StatusOr<size_t> got = base_->Read(remote.offset, remote.length, remote.buffer);
  remote.status = got.status();
  remote.bytes_read = got.value_or(0);
  return read.TakeRemoteRead(remote, /*among_many=*/false);
}

size_t CachedReader::ReadCached(uint64_t offset, size_t length, char* buffer) const {
  if (!keeps()) return base_->ReadCached(offset, length, buffer);
  if (offset >= bytes_) return 0;
  length = std::min<uint64_t>(length, bytes_ - offset);
  std::unique_ptr<char[]> page;
  size_t done = 0;
  while (done < length) {
    const uint64_t number = (offset + done) / kPageBytes;
    const PageName name = NameOf(file_->key, number, bytes_);
    const std::optional<PageStore::Place> place = store_->Find(name);
    if (!place.has_value()) break;
    if (page == nullptr) page = std::make_unique_for_overwrite<char[]>(kPageBytes);
    if (!store_->ReadCached(*place, name, page.get())) break;
    const size_t skip = offset + done - number * kPageBytes;
    const size_t take = std::min<size_t>(name.length - skip, length - done);
    std::memcpy(buffer + done, page.get() + skip, take);
    store_->CountHits(1);
    done += take;
  }
  return done;
}

// What the store has is loaded by the local system, and the rest by the remote one, if it can: from the first missing
// page to the last, as a read asks for it then.
void CachedReader::ReadAhead(uint64_t offset, uint64_t length) const {
  if (!keeps()) return base_->ReadAhead(offset, length);
  if (offset >= bytes_) return;
  const uint64_t end = offset + std::min(length, bytes_ - offset);
  uint64_t missing_begin = 0, missing_end = 0;
  for (uint64_t number = offset / kPageBytes; number * kPageBytes < end; ++number) {
    const PageName name = NameOf(file_->key, number, bytes_);
    if (const std::optional<PageStore::Place> place = store_->Find(name, /*use=*/false); place.has_value()) {
      store_->ReadAhead(*place, name);
      continue;
    }
    if (missing_end == 0) missing_begin = number * kPageBytes;
    missing_end = number * kPageBytes + name.length;
  }
  if (missing_end > missing_begin) base_->ReadAhead(missing_begin, missing_end - missing_begin);
}

void ReadManyCached(const Directory& base, std::span<ReadRequest> requests,
                    const std::function<void(ReadRequest&)>& done) {
  std::vector<PagedRead> reads;
  std::vector<size_t> of_reads;  // their places in `requests`
  std::vector<ReadRequest> remote;
  std::vector<size_t> of_remote;
  std::vector<PagedRead*> paged;  // null: the request is passed on as it is
  const PageStore* store = nullptr;
  reads.reserve(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    const ReadRequest& request = requests[i];
    const auto& reader = static_cast<const CachedReader&>(*request.file);
    if (reader.keeps()) {
      reads.emplace_back(reader, request.offset, request.length, request.buffer);
      of_reads.push_back(i);
      store = &reader.store();
    } else {
      remote.push_back(request);
      remote.back().file = &reader.base();
      of_remote.push_back(i);
      paged.push_back(nullptr);
    }
  }
  ReadLocally(reads, store);
  for (size_t i = 0; i < reads.size(); ++i) {
    ReadRequest& request = requests[of_reads[i]];
    if (reads[i].complete()) {
      request.status = absl::OkStatus();
      request.bytes_read = reads[i].length();
      done(request);
    } else {
      remote.push_back(reads[i].RemoteRead());
      of_remote.push_back(of_reads[i]);
      paged.push_back(&reads[i]);
    }
  }
  if (remote.empty()) return;
  base.ReadMany(remote, [&](ReadRequest& result) {
    const size_t i = static_cast<size_t>(&result - remote.data());
    ReadRequest& request = requests[of_remote[i]];
    absl::StatusOr<size_t> got = result.bytes_read;
    if (paged[i] != nullptr) {
      got = paged[i]->TakeRemoteRead(result, /*among_many=*/true);
    } else if (!result.status.ok()) {
      got = result.status;
    }
    request.status = got.status();
    request.bytes_read = got.value_or(0);
    done(request);
  });
}

}  // namespace sepal::file_cache
