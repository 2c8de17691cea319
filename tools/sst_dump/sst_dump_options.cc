#include "tools/sst_dump/sst_dump_options.h"

#include <CLI/CLI.hpp>
#include <map>
#include <ostream>

#include "db/engine/core/check_options.h"
#include "tools/terminal/cli.h"
#include "util/base/compression.h"
#include "util/base/strings.h"

namespace sepal::tools {
namespace {

const std::map<std::string, SstCommand>& Commands() {
  static const std::map<std::string, SstCommand> commands = {
      {"check", SstCommand::kCheck},   {"scan", SstCommand::kScan},         {"raw", SstCommand::kRaw},
      {"verify", SstCommand::kVerify}, {"filters", SstCommand::kFilters},   {"recompress", SstCommand::kRecompress},
      {"none", SstCommand::kNone},     {"identify", SstCommand::kIdentify}, {"layout", SstCommand::kLayout},
  };
  return commands;
}

constexpr char kIgnoredDumpFlags[] =
    "show_sequence_number_type verify_checksum parse_internal_key readahead_size decode_blob_index list_meta_blocks "
    "show_summary env_uri fs_uri";

// False after an explanation on `err`.
bool DecodeKey(const CLI::App& app, const std::string& flag, bool hex, const std::string& text,
               std::optional<std::string>* key, std::ostream& err) {
  if (app.count(flag) == 0) return true;
  *key = hex ? FromHex(text) : text;
  if (!key->has_value()) err << app.get_name() << ": " << flag << ": not hexadecimal: " << text << "\n";
  return key->has_value();
}

bool ChooseCodecs(const CLI::App& app, const std::vector<std::string>& names, SstDumpOptions* options,
                  std::ostream& err) {
  if (names.empty()) return true;
  options->compression_types.clear();
  for (const std::string& name : names) {
    const std::optional<CompressionKind> kind = CompressionFromName(name);
    if (!kind.has_value()) {
      err << app.get_name() << ": --compression_types: unknown codec " << name << "; known: none snappy lz4 zstd\n";
      return false;
    }
    options->compression_types.push_back(*kind);
  }
  return true;
}

}  // namespace

CLI::Option* AddBlockBytes(CLI::App* app, const std::string& name, uint64_t* bytes, const std::string& description) {
  const auto check = [](const std::string& number) {
    return std::string(ToStd(CheckFamilyOptions({.block_bytes = std::stoull(number)}).message()));
  };
  return AddBytes(app, name, bytes, description)->check(CLI::Validator(check, ""));
}

std::unique_ptr<CLI::App> SstDumpApp(SstDumpOptions* o, SstDumpTexts* texts, std::ostream& err) {
  auto app = std::make_unique<CLI::App>(
      "Inspects table files.\n\nExample: sst_dump --command=verify --show_properties /var/lib/app/000012.sst\n\n"
      "Commands:\n"
      "  check       read every entry; order and number (the default)\n"
      "  scan        print the entries\n"
      "  raw         write everything to NAME_dump.txt in the current directory\n"
      "  verify      every checksum, and that filters, index and properties agree with the entries\n"
      "  recompress  the size that the file would have with each codec\n"
      "  identify    say whether a file is a table\n"
      "  filters     the filter of each block, the guard, totals\n"
      "  layout      where each part and each block of the file lies\n"
      "  none        nothing (with --show_properties)\n\n"
      "Exit status: 0 nothing wrong, 1 error, 2 usage, 3 damage found",
      "sst_dump");
  app->add_option("files", o->inputs, "Table files, and directories of them");
  AddList(app.get(), "--file", &texts->files, "Table files, as arguments");
  std::vector<std::string> commands;
  for (const auto& [name, unused] : Commands()) commands.emplace_back(name);
  AddChoices(app->add_option("--command", o->command_name, "One of the above")->capture_default_str(), commands);
  app->add_flag("--show_properties", o->show_properties, "Print the file's properties too");
  app->add_flag("--output_hex", o->output_hex, "Print keys and values in hexadecimal");
  app->add_flag("--input_key_hex", texts->input_key_hex, "--from, --to and --prefix are hexadecimal");
  app->add_option("--from", texts->from, "First user key of the range");
  app->add_option("--to", texts->to, "End of the range: this user key is not included");
  app->add_option("--prefix", texts->prefix, "Only user keys with this prefix");
  AddCount(app.get(), "--read_num", &o->read_num, "At most this many entries");
  AddChoices(AddList(app.get(), "--compression_types", &texts->codecs, "For recompress: none, snappy, lz4, zstd"),
             {"none", "snappy", "lz4", "zstd"});
  AddBlockBytes(app.get(), "--block_size,--set_block_size", &o->block_size, "For recompress: bytes of a block")
      ->capture_default_str();
  app->add_flag("--json", o->json, "Print JSON, one object a line, rather than text");
  AddIgnored(app.get(), kIgnoredDumpFlags, err);
  return app;
}

std::optional<int> ParseSstDumpFlags(int argc, const char* const* argv, SstDumpOptions* o, std::ostream& out,
                                     std::ostream& err) {
  SstDumpTexts texts;
  const std::unique_ptr<CLI::App> app = SstDumpApp(o, &texts, err);
  TakeCalledName(app.get(), argv);
  if (std::optional<int> exit = ParseFlags(app.get(), NormalizeArguments(argc, argv), out, err)) return exit;

  o->inputs.insert(o->inputs.end(), texts.files.begin(), texts.files.end());
  if (o->inputs.empty()) {
    err << app->get_name() << ": no file is named; --help lists the flags\n";
    return kExitUsage;
  }
  const auto command = Commands().find(o->command_name);
  if (command == Commands().end()) {
    err << app->get_name() << ": unknown command " << o->command_name << "; known:";
    for (const auto& [name, unused] : Commands()) err << " " << name;
    err << "\n";
    return kExitUsage;
  }
  o->command = command->second;
  if (!DecodeKey(*app, "--from", texts.input_key_hex, texts.from, &o->from, err) ||
      !DecodeKey(*app, "--to", texts.input_key_hex, texts.to, &o->to, err) ||
      !DecodeKey(*app, "--prefix", texts.input_key_hex, texts.prefix, &o->prefix, err) ||
      !ChooseCodecs(*app, texts.codecs, o, err)) {
    return kExitUsage;
  }
  return std::nullopt;
}

}  // namespace sepal::tools
