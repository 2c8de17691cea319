// Any bytes as the index of a cache of table bytes, then as what follows a right header, and as its pages: it opens or
// is made anew, and gives a page only as it was put.
#include <cstddef>
#include <cstdint>
#include <string>

#include "file_cache/page_store.h"
#include "sepal/simulation/memory_file_system.h"
#include "util/base/check.h"

namespace {

using namespace sepal;
using namespace sepal::file_cache;

void Take(const std::string& index, const std::string& pages) {
  MemoryFileSystem local;
  SEPAL_CHECK(local.WriteFileContents("/cache/index", index).ok());
  SEPAL_CHECK(local.WriteFileContents("/cache/pages", pages).ok());
  const CacheOptions options = {.directory = "/cache", .bytes = uint64_t{1} << 20, .file_system = &local};
  const std::unique_ptr<PageStore> store = PageStore::Open(options).value();
  const FileKey key = KeyOf("a file");
  const auto get = [&](const PageName& name) -> std::string {
    const std::optional<PageStore::Place> place = store->Find(name);
    std::string bytes(name.length, '\0');
    if (!place.has_value()) return "none";
    ReadRequest request = store->RequestFor(*place, name, bytes.data());
    store->ReadMany({&request, 1});
    bytes.resize(request.bytes_read);
    return store->Verify(*place, name, bytes) ? bytes : "none";
  };
  for (uint64_t number = 0; number < 40; ++number) {
    const PageName name = NameOf(key, number, number * kPageBytes + 100);
    const std::string page(100, static_cast<char>(number));
    store->Put(name, page);
    const std::string got = get(name);
    SEPAL_CHECK(got == page || got == "none");
  }
  SEPAL_CHECK(local.UsedBytes() <= options.bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  Take(bytes, bytes);
  Take(EncodeHeader() + bytes, bytes);
  return 0;
}
