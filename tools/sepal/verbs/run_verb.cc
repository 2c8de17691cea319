// sepal run: a program that uses LevelDB, on Sepal.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ostream>

#include "absl/strings/str_format.h"
#include "sepal/options.h"
#include "tools/sepal/run_program.h"
#include "tools/terminal/cli.h"
#include "tools/terminal/verb.h"
#include "util/base/status.h"

namespace sepal::tools {
namespace {

class RunProgramVerb final : public Verb {
 public:
  void AddFlags(CLI::App* app) override {
    app->add_option("PROGRAM", command_, "The program and its arguments")->required()->expected(1, -1);
    AddBytes(app, "--memory-limit", &memory_limit_,
             "Limit for all memory of each database (default: by the program's options, at least 128MiB)");
  }

  // Returns only if the program cannot be run.
  absl::Status Run(const Streams& io) override {
    ASSIGN_OR_RETURN(const std::string libraries, FindLevelDbDirectory());
    ASSIGN_OR_RETURN(const std::string program, FindProgram(command_.front()));
    RETURN_IF_ERROR(CheckNoLevelDbWithin(program));
    // This process's own environment, which the program inherits and nobody else.
    ::setenv("LD_LIBRARY_PATH", LibraryPathWith(libraries).c_str(), 1);
    if (memory_limit_ > 0) ::setenv("SEPAL_LEVELDB_MEMORY_LIMIT", std::to_string(memory_limit_).c_str(), 1);
    std::vector<char*> arguments;
    for (std::string& argument : command_) arguments.push_back(argument.data());
    arguments.push_back(nullptr);
    io.out.flush();
    io.err.flush();
    ::execv(program.c_str(), arguments.data());
    return absl::InternalError(absl::StrFormat("%s: %s", program, std::strerror(errno)));
  }

 private:
  std::vector<std::string> command_;
  uint64_t memory_limit_ = 0;
};

}  // namespace

std::vector<VerbEntry> ProgramVerbs() {
  return {{kRunVerb, "run a program that uses LevelDB, with Sepal in LevelDB's place",
           "run --memory-limit 1GiB ./server --port 80", MakeVerb<RunProgramVerb>}};
}

}  // namespace sepal::tools
