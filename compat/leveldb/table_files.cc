// Files in LevelDB's own table format, which Sepal neither writes nor reads: programs that work on such files load, but
// get an error.
#include <leveldb/dumpfile.h>
#include <leveldb/env.h>
#include <leveldb/table.h>
#include <leveldb/table_builder.h>

namespace leveldb {

namespace {

Status NoTableFiles() { return Status::NotSupported("files of LevelDB's table format, in Sepal's libleveldb"); }

}  // namespace

struct TableBuilder::Rep {};

TableBuilder::TableBuilder(const Options&, WritableFile*) : rep_(nullptr) {}
TableBuilder::~TableBuilder() = default;
Status TableBuilder::ChangeOptions(const Options&) { return NoTableFiles(); }
void TableBuilder::Add(const Slice&, const Slice&) {}
void TableBuilder::Flush() {}
Status TableBuilder::status() const { return NoTableFiles(); }
Status TableBuilder::Finish() { return NoTableFiles(); }
void TableBuilder::Abandon() {}
uint64_t TableBuilder::NumEntries() const { return 0; }
uint64_t TableBuilder::FileSize() const { return 0; }

struct Table::Rep {};

Status Table::Open(const Options&, RandomAccessFile*, uint64_t, Table** table) {
  *table = nullptr;
  return NoTableFiles();
}
Table::~Table() = default;
Iterator* Table::NewIterator(const ReadOptions&) const { return NewErrorIterator(NoTableFiles()); }
uint64_t Table::ApproximateOffsetOf(const Slice&) const { return 0; }

Status DumpFile(Env*, const std::string&, WritableFile*) { return NoTableFiles(); }

}  // namespace leveldb
