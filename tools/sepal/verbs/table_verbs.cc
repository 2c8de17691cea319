// sepal sst ...: table files. The work is sst_dump's.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <ostream>

#include "absl/strings/str_format.h"
#include "tools/sepal/database_access.h"
#include "tools/sst_dump/sst_dump.h"
#include "tools/sst_dump/sst_dump_options.h"
#include "tools/terminal/cli.h"
#include "tools/terminal/verb.h"
#include "util/base/compression.h"
#include "util/base/status.h"

namespace sepal::tools {
namespace {

template <SstCommand command>
class TableVerb final : public Verb {
 public:
  void AddFlags(CLI::App* app) override {
    app->add_option("FILE", options_.inputs, "Table files, and directories of them")->required();
    if constexpr (command != SstCommand::kFilters && command != SstCommand::kVerify) {
      app->add_flag("--hex", hex_, "Keys and values are given and printed in hexadecimal");
    }
    if constexpr (command == SstCommand::kScan || command == SstCommand::kRecompress) {
      app->add_option("--from", from_, "First user key of the range");
      app->add_option("--to", to_, "End of the range: this user key is not included");
      app->add_option("--prefix", prefix_, "Only user keys with this prefix");
      AddCount(app, "--limit", &options_.read_num, "At most this many entries");
    }
    if constexpr (command == SstCommand::kRecompress) {
      AddChoices(AddList(app, "--codecs", &codecs_, "none, snappy, lz4, zstd (default: all)"),
                 {"none", "snappy", "lz4", "zstd"});
      AddBlockBytes(app, "--block-size", &options_.block_size, "Bytes of a block")->capture_default_str();
    }
  }

  absl::Status Run(const Streams& io) override {
    RETURN_IF_ERROR(TakeKeys());
    RETURN_IF_ERROR(TakeCodecs());
    options_.command = command;
    options_.command_name = name;
    options_.output_hex = hex_;
    options_.json = json;
    options_.show_properties = command == SstCommand::kIdentify;
    absl::Status status;
    DumpTables(options_, "sepal " + name, io.out, io.err, &status);
    // It has told of each file.
    reported = true;
    if (json && !status.ok()) io.out << ToLine(JsonHead(status)) << "\n";
    return status;
  }

 private:
  absl::Status TakeKeys() {
    const auto take = [this](const std::string& text, std::optional<std::string>* key) -> absl::Status {
      if (text.empty()) return absl::OkStatus();
      ASSIGN_OR_RETURN(*key, BytesFrom(text, hex_));
      return absl::OkStatus();
    };
    RETURN_IF_ERROR(take(from_, &options_.from));
    RETURN_IF_ERROR(take(to_, &options_.to));
    return take(prefix_, &options_.prefix);
  }

  absl::Status TakeCodecs() {
    if (!codecs_.empty()) options_.compression_types.clear();
    for (const std::string& codec : codecs_) {
      const std::optional<CompressionKind> kind = CompressionFromName(codec);
      if (!kind.has_value()) {
        return absl::CancelledError(absl::StrFormat("unknown codec %s; known: none snappy lz4 zstd", codec));
      }
      options_.compression_types.push_back(*kind);
    }
    return absl::OkStatus();
  }

  SstDumpOptions options_;
  std::string from_, to_, prefix_;
  std::vector<std::string> codecs_;
  bool hex_ = false;
};

}  // namespace

std::vector<VerbEntry> TableVerbs() {
  return {
      {"sst show", "identify a table file and print its properties", "sst show /var/lib/app/000012.sst",
       MakeVerb<TableVerb<SstCommand::kIdentify>>},
      {"sst layout", "print where each section and data block lies", "sst layout /var/lib/app/000012.sst",
       MakeVerb<TableVerb<SstCommand::kLayout>>},
      {"sst scan", "print the entries of a table file, every version",
       "sst scan /var/lib/app/000012.sst --prefix user: --limit 10", MakeVerb<TableVerb<SstCommand::kScan>>},
      {"sst verify", "check every checksum, and that entries, index and filters agree", "sst verify /var/lib/app",
       MakeVerb<TableVerb<SstCommand::kVerify>>},
      {"sst recompress", "measure the size with other compression codecs; writes nothing",
       "sst recompress /var/lib/app/000012.sst --codecs lz4,zstd", MakeVerb<TableVerb<SstCommand::kRecompress>>},
      {"sst filters", "print the filters of blocks and file, with their false positive rates",
       "sst filters /var/lib/app/000012.sst", MakeVerb<TableVerb<SstCommand::kFilters>>},
  };
}

}  // namespace sepal::tools
