// sepal completion, sepal man: what is generated from the table of verbs and their flags.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <ostream>

#include "tools/terminal/cli.h"
#include "tools/terminal/manual_source.h"
#include "tools/terminal/verb.h"

namespace sepal::tools {
namespace {

class PaperVerb : public Verb {
 protected:
  void Print(const std::string& text, std::ostream& out) const {
    if (!json) {
      out << text;
      return;
    }
    nlohmann::json line = JsonHead();
    line["text"] = text;
    out << ToLine(line) << "\n";
  }
};

class CompletionVerb final : public PaperVerb {
 public:
  void AddFlags(CLI::App* app) override {
    app->add_option("SHELL", shell_, "bash, zsh or fish")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
  }
  absl::Status Run(const Streams& io) override {
    Print(shell_ == "bash" ? BashCompletion() : shell_ == "zsh" ? ZshCompletion() : FishCompletion(), io.out);
    return absl::OkStatus();
  }

 private:
  std::string shell_;
};

class ManVerb final : public PaperVerb {
 public:
  void AddFlags(CLI::App* app) override {
    app->add_option("PAGE", page_, "sepal, db_bench or sst_dump")
        ->check(CLI::IsMember({"sepal", "db_bench", "sst_dump"}))
        ->capture_default_str();
  }
  absl::Status Run(const Streams& io) override {
    Print(page_ == "sepal" ? SepalPage() : page_ == "db_bench" ? DbBenchPage() : SstDumpPage(), io.out);
    return absl::OkStatus();
  }

 private:
  std::string page_ = "sepal";
};

}  // namespace

std::vector<VerbEntry> PaperVerbs() {
  return {
      {"completion", "print a completion script for a shell",
       "completion bash > ~/.local/share/bash-completion/completions/sepal", MakeVerb<CompletionVerb>},
      {"man", "print the manual page", "man | man -l -", MakeVerb<ManVerb>},
  };
}

}  // namespace sepal::tools
