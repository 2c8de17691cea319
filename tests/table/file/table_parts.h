// A table taken apart into its units, to be changed and put together again with good checksums, as only a faulty or
// hostile writer would make it. Tables of tests: bytewise keys, nothing compressed, with a guard.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "table/block/block.h"
#include "table/file/table_format.h"
#include "table/filter/filter.h"
#include "table/index/index_page.h"
#include "util/memory/block_buffer.h"

namespace sepal {

// The entry of an index page for one unit below it.
struct IndexItem {
  Separator separator;
  BlockHandle handle;
  uint8_t dead = 0;
  std::string lane;
};

struct IndexParts {
  std::vector<IndexItem> items;
  int lane_probes = 0;
  uint64_t entries = 0;
  uint64_t entries_before = 0;

  static IndexParts Of(std::string_view bytes) {
    BlockBuffer aligned(bytes.size());
    bytes.copy(aligned.data(), bytes.size());
    const IndexPageView view(aligned.view());
    IndexParts parts;
    parts.lane_probes = view.lane_probes();
    parts.entries = view.entries();
    parts.entries_before = view.entries_before();
    for (uint32_t i = 0; i < view.count(); ++i) {
      parts.items.push_back({view.separator(i), view.handle(i), view.dead(i), std::string(view.lane(i))});
    }
    return parts;
  }
  std::string Bytes(int level) const {
    IndexPageBuilder builder(level, KeyOrder(), lane_probes);
    // Of 255 entries that many tombstones are that share.
    for (const IndexItem& item : items) builder.Add(item.separator, item.handle, 255, item.dead, item.lane);
    std::string bytes = builder.Finish(entries_before);
    EncodeFixed64(bytes.data() + 16, entries);
    return bytes;
  }
};

// Where the lanes of a leaf page lie in the file, by block, and which keys come to them.
struct LeafLanes {
  struct Place {
    uint64_t offset = 0;
    uint64_t size = 0;
  };
  std::vector<Place> lanes;
  // Of the user keys, which have one version each: those behind `after` (unset: from the first) up to `through`.
  std::optional<std::string> after;
  std::string through;

  bool Holds(std::string_view user_key) const {
    return (!after.has_value() || user_key > *after) && user_key <= through;
  }
  // Makes every lane answer "absent" for every key. False if that changed nothing.
  bool Blank(std::string* contents) const {
    const std::string before = *contents;
    for (const Place& lane : lanes) contents->replace(lane.offset, lane.size, lane.size, '\0');
    return *contents != before;
  }
};

// Of each leaf page of a table.
inline std::vector<LeafLanes> LanesOf(const std::string& contents) {
  const auto aligned = [&](BlockHandle handle) {
    BlockBuffer buffer(handle.size);
    contents.copy(buffer.data(), handle.size, handle.offset);
    return buffer;
  };
  const Footer footer = Footer::Decode(contents, "lanes", contents.size()).value();
  const BlockBuffer root_bytes = aligned(footer.root);
  const IndexPageView root(root_bytes.view());
  std::vector<LeafLanes> pages(root.count());
  for (uint32_t page = 0; page < root.count(); ++page) {
    const BlockBuffer bytes = aligned(root.handle(page));
    const IndexPageView leaf(bytes.view());
    for (uint32_t i = 0; i < leaf.count(); ++i) {
      const auto offset = static_cast<uint64_t>(leaf.lane(i).data() - bytes.view().data());
      pages[page].lanes.push_back({root.handle(page).offset + offset, leaf.lane(i).size()});
    }
    if (page > 0) pages[page].after = pages[page - 1].through;
    pages[page].through = root.separator(page).user_key;
  }
  return pages;
}

class TableParts {
 public:
  explicit TableParts(const std::string& contents)
      : footer(Footer::Decode(contents, "parts", contents.size()).value()),
        properties(TableProperties::Decode(UnitOf(contents, footer.properties), "parts").value()),
        guard(UnitOf(contents, footer.guard)),
        root(IndexParts::Of(UnitOf(contents, footer.root))) {
    data = contents.substr(0, properties.data_bytes);
    for (const IndexItem& item : root.items) leaves.push_back(IndexParts::Of(UnitOf(contents, item.handle)));
  }

  // The leaf pages follow the data, the root's items follow the leaf pages; the rest is as it is set.
  std::string Bytes() const {
    std::string bytes = data;
    IndexParts placed = root;
    for (size_t i = 0; i < leaves.size(); ++i) placed.items[i].handle = AppendUnit(&bytes, leaves[i].Bytes(0));
    std::string root_bytes = placed.Bytes(1);
    if (change_root) change_root(&root_bytes);
    Footer written = footer;
    written.root = AppendUnit(&bytes, root_bytes);
    written.guard = AppendUnit(&bytes, guard);
    written.properties = AppendUnit(&bytes, properties.Encode());
    written.file_size = bytes.size() + kFooterBytes;
    return bytes + written.Encode();
  }

  BlockHandle Block(size_t leaf, size_t i) const { return leaves[leaf].items[i].handle; }
  // Changes a data block in its place.
  void ChangeBlock(BlockHandle handle, const std::function<void(std::string*)>& change) {
    std::string bytes = data.substr(handle.offset, handle.size);
    change(&bytes);
    ASSERT_EQ(bytes.size(), handle.size);
    std::string unit;
    AppendUnitAt(&unit, handle.offset, bytes);
    data.replace(handle.offset, unit.size(), unit);
  }

  Footer footer;
  TableProperties properties;
  std::string guard;
  std::string data;  // the data blocks
  std::vector<IndexParts> leaves;
  IndexParts root;
  std::function<void(std::string*)> change_root;

 private:
  static std::string UnitOf(const std::string& contents, BlockHandle handle) {
    EXPECT_EQ(contents[handle.offset + handle.size], 0) << "a unit that is compressed";
    return contents.substr(handle.offset, handle.size);
  }
  void AppendUnitAt(std::string* out, uint64_t offset, std::string_view unit) const {
    out->append(unit);
    out->push_back(0);
    PutFixed32(out, UnitChecksum(unit, CompressionKind::kNone, footer.table_id, offset));
  }
  BlockHandle AppendUnit(std::string* out, std::string_view unit) const {
    const BlockHandle handle{out->size(), unit.size()};
    AppendUnitAt(out, handle.offset, unit);
    return handle;
  }
};

}  // namespace sepal
