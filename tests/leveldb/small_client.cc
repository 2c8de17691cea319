// The least program that uses LevelDB: what it puts and gets shows whose database it is.
//   small_client put DIRECTORY KEY VALUE
//   small_client get DIRECTORY KEY
#include <leveldb/db.h>

#include <cstdio>
#include <memory>
#include <string>

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const std::string verb = argv[1];
  leveldb::Options options;
  options.create_if_missing = verb == "put";
  leveldb::DB* opened = nullptr;
  leveldb::Status status = leveldb::DB::Open(options, argv[2], &opened);
  const std::unique_ptr<leveldb::DB> db(opened);
  std::string value;
  if (status.ok() && verb == "put") status = db->Put(leveldb::WriteOptions(), argv[3], argv[4]);
  if (status.ok() && verb == "get") status = db->Get(leveldb::ReadOptions(), argv[3], &value);
  std::printf("%s\n", status.ok() && verb == "get" ? value.c_str() : status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
