// What the databases hold that releases have written and that are kept here: lists of updates, one for each shape.
// make_databases.cc makes the databases with the library of a release; a test opens them with the library of today.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace sepal::databases {

struct Step {
  enum class Kind { kPut, kDelete, kSingleDelete, kFlush, kCompact, kCreateFamily, kDropFamily };
  Kind kind = Kind::kPut;
  std::string family = {};  // empty: the default one
  std::string key = {};
  std::string value = {};
};

struct Shape {
  std::string name;
  std::vector<Step> steps;
};

// Puts of every `every`th key of some hundred, whose values tell `round`.
inline void PutSome(std::vector<Step>* steps, const std::string& family, int every, int round) {
  for (int i = 0; i < 300; i += every) {
    const std::string key = "key" + std::to_string(100'000 + i * 7919 % 1000);
    steps->push_back({Step::Kind::kPut, family, key, "round " + std::to_string(round) + " of " + key});
  }
}
inline void DeleteSome(std::vector<Step>* steps, const std::string& family, int every) {
  for (int i = 0; i < 300; i += every) {
    steps->push_back({Step::Kind::kDelete, family, "key" + std::to_string(100'000 + i * 7919 % 1000), {}});
  }
}

inline std::vector<Shape> Shapes() {
  using Kind = Step::Kind;
  std::vector<Shape> shapes;

  Shape log{"log", {}};
  PutSome(&log.steps, "", 1, 1);
  PutSome(&log.steps, "", 5, 2);
  DeleteSome(&log.steps, "", 7);
  log.steps.push_back({Kind::kPut, "", std::string("\0\xff", 2), std::string("\0any bytes\n", 11)});
  log.steps.push_back({Kind::kPut, "", "", "the empty key"});
  shapes.push_back(log);

  Shape tables{"tables", {}};
  for (int round = 1; round <= 3; ++round) {
    PutSome(&tables.steps, "", round, round);
    DeleteSome(&tables.steps, "", 10 + round);
    tables.steps.push_back({.kind = Kind::kFlush});
  }
  PutSome(&tables.steps, "", 9, 4);
  shapes.push_back(tables);

  Shape families{"families", {}};
  for (const char* name : {"mail", "gone", "log only"}) families.steps.push_back({Kind::kCreateFamily, name, {}, {}});
  PutSome(&families.steps, "", 2, 1);
  PutSome(&families.steps, "mail", 1, 1);
  PutSome(&families.steps, "gone", 3, 1);
  families.steps.push_back({Kind::kDropFamily, "gone", {}, {}});
  families.steps.push_back({.kind = Kind::kFlush});
  families.steps.push_back({Kind::kFlush, "mail", {}, {}});
  DeleteSome(&families.steps, "mail", 4);
  PutSome(&families.steps, "log only", 6, 1);
  shapes.push_back(families);

  Shape compacted{"compacted", {}};
  for (int round = 1; round <= 4; ++round) {
    PutSome(&compacted.steps, "", round, round);
    compacted.steps.push_back({.kind = Kind::kFlush});
  }
  DeleteSome(&compacted.steps, "", 6);
  compacted.steps.push_back({Kind::kPut, "", "once", "put once"});
  compacted.steps.push_back({Kind::kSingleDelete, "", "once", {}});
  compacted.steps.push_back({.kind = Kind::kCompact});
  PutSome(&compacted.steps, "", 50, 5);
  compacted.steps.push_back({.kind = Kind::kFlush});
  shapes.push_back(compacted);
  return shapes;
}

// By family's name, with the default one's as the database has it.
using Contents = std::map<std::string, std::map<std::string, std::string>>;

inline Contents ContentsOf(const Shape& shape) {
  Contents contents;
  contents["default"];
  for (const Step& step : shape.steps) {
    const std::string family = step.family.empty() ? "default" : step.family;
    switch (step.kind) {
      case Step::Kind::kPut:
        contents[family][step.key] = step.value;
        break;
      case Step::Kind::kDelete:
      case Step::Kind::kSingleDelete:
        contents[family].erase(step.key);
        break;
      case Step::Kind::kCreateFamily:
        contents[family];
        break;
      case Step::Kind::kDropFamily:
        contents.erase(family);
        break;
      case Step::Kind::kFlush:
      case Step::Kind::kCompact:
        break;
    }
  }
  return contents;
}

}  // namespace sepal::databases
