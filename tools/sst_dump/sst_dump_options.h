// sst_dump's flags, with the names of RocksDB's sst_dump.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sepal/options.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace sepal::tools {

enum class SstCommand : uint8_t { kCheck, kScan, kRaw, kVerify, kRecompress, kIdentify, kFilters, kLayout, kNone };

struct SstDumpOptions {
  // Files, and directories, which mean all tables in them.
  std::vector<std::string> inputs = {};
  SstCommand command = SstCommand::kCheck;
  std::string command_name = "check";
  bool show_properties = false;
  bool output_hex = false;
  bool json = false;
  // Of user keys, as bytes; `to` is exclusive.
  std::optional<std::string> from = {};
  std::optional<std::string> to = {};
  std::optional<std::string> prefix = {};
  uint64_t read_num = UINT64_MAX;
  // For recompress.
  std::vector<CompressionKind> compression_types = {CompressionKind::kNone, CompressionKind::kSnappy,
                                                    CompressionKind::kLz4, CompressionKind::kZstd};
  uint64_t block_size = 4096;
};

// Values that are parsed once all flags are known.
struct SstDumpTexts {
  std::vector<std::string> files = {}, codecs = {};
  std::string from = {}, to = {}, prefix = {};
  bool input_key_hex = false;
};

// As many as an option of the engine takes.
CLI::Option* AddBlockBytes(CLI::App* app, const std::string& name, uint64_t* bytes, const std::string& description);

// The flags; notes on ignored ones go to `err`. All must outlive the result.
std::unique_ptr<CLI::App> SstDumpApp(SstDumpOptions* options, SstDumpTexts* texts, std::ostream& err);
// Fills `options`; an exit code if the program should end now.
std::optional<int> ParseSstDumpFlags(int argc, const char* const* argv, SstDumpOptions* options, std::ostream& out,
                                     std::ostream& err);

}  // namespace sepal::tools
