// Makes the databases of shapes.h in a directory, each in one of its name. Built by hand, with the library of the
// release that they are to be kept of, and no part of any build:
//
//   c++ -std=c++20 -I RELEASE/include -I . tests/data/databases/make_databases.cc libsepal.a ... && ./a.out 0.1.0
//
// tests/db/engine/open/earlier_versions_test.cc opens them.
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "sepal/db.h"
#include "tests/data/databases/shapes.h"

namespace {

using sepal::databases::Step;

void Check(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

void Take(sepal::DB* db, const Step& step) {
  if (step.kind == Step::Kind::kCreateFamily) return Check(db->CreateColumnFamily(step.family).status());
  std::shared_ptr<sepal::ColumnFamily> family =
      db->FindColumnFamily(step.family.empty() ? "default" : step.family).value();
  switch (step.kind) {
    case Step::Kind::kPut:
      return Check(db->Put(*family, step.key, step.value));
    case Step::Kind::kDelete:
      return Check(db->Delete(*family, step.key));
    case Step::Kind::kSingleDelete:
      return Check(db->SingleDelete(*family, step.key));
    case Step::Kind::kFlush:
      return Check(db->Flush(*family));
    case Step::Kind::kCompact:
      return Check(db->CompactRange(*family));
    case Step::Kind::kDropFamily:
      return Check(db->DropColumnFamily(*family));
    case Step::Kind::kCreateFamily:
      return;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 1;
  for (const sepal::databases::Shape& shape : sepal::databases::Shapes()) {
    const sepal::Options options{.create_if_missing = true};
    auto db = sepal::DB::Open(options, std::string(argv[1]) + "/" + shape.name);
    Check(db.status());
    for (const Step& step : shape.steps) Take(db->get(), step);
    Check((*db)->Close());
  }
  return 0;
}
