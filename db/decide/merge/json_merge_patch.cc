#include "db/decide/merge/json_merge_patch.h"

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "util/base/status.h"

namespace sepal {

namespace {

constexpr size_t kMostLevels = 256;

// A JSON value. Everything but objects, which patches look into, is kept as text, so that numbers keep all of their
// digits.
struct Node {
  bool is_object = false;
  std::string text = {};  // of anything but an object
  std::map<std::string, Node> members = {};

  bool is_null() const { return !is_object && text == "null"; }
};

std::string Quoted(const std::string& string) { return nlohmann::json(string).dump(); }

void AppendTo(std::string* out, const Node& node) {
  if (!node.is_object) {
    *out += node.text;
    return;
  }
  char before = '{';
  for (const auto& [name, member] : node.members) {
    *out += std::exchange(before, ',');
    *out += Quoted(name);
    *out += ':';
    AppendTo(out, member);
  }
  if (before == '{') *out += before;
  *out += '}';
}

// Builds values from the parser's events.
class Builder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  Node Take() { return std::move(root_); }
  const std::string& problem() const { return problem_; }

  bool null() override { return Text("null"); }
  bool boolean(bool value) override { return Text(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { return Text(std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override { return Text(std::to_string(value)); }
  bool number_float(number_float_t, const string_t& text) override { return Text(text); }
  bool string(string_t& value) override { return Text(Quoted(value)); }
  bool binary(binary_t&) override { return false; }
  bool key(string_t& name) override {
    open_.back().name = std::move(name);
    return true;
  }
  bool start_object(size_t) override { return Open(/*object=*/true); }
  bool end_object() override { return Close(); }
  bool start_array(size_t) override { return Open(/*object=*/false); }
  bool end_array() override { return Close(); }
  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception&) override {
    problem_ = absl::StrFormat("no JSON text: byte %u", position);
    return false;
  }

 private:
  // An object, or the text of an array, that is not closed yet.
  struct OpenNode {
    Node node;
    std::string name = {};  // of the next member
  };

  bool Text(std::string text) { return Place({.text = std::move(text)}); }
  bool Open(bool object) {
    if (open_.size() == kMostLevels) {
      problem_ = absl::StrFormat("nested deeper than %u levels", kMostLevels);
      return false;
    }
    open_.push_back({.node = {.is_object = object, .text = object ? "" : "["}});
    return true;
  }
  bool Close() {
    Node node = std::move(open_.back().node);
    open_.pop_back();
    if (!node.is_object) node.text += ']';
    return Place(std::move(node));
  }
  bool Place(Node node) {
    if (open_.empty()) {
      root_ = std::move(node);
    } else if (OpenNode& parent = open_.back(); parent.node.is_object) {
      parent.node.members.insert_or_assign(std::move(parent.name), std::move(node));
    } else {
      if (parent.node.text.size() > 1) parent.node.text += ',';
      AppendTo(&parent.node.text, node);
    }
    return true;
  }

  Node root_;
  std::vector<OpenNode> open_;
  std::string problem_;
};

absl::Status Parse(std::string_view text, std::string_view what, Node* node) {
  Builder builder;
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &builder)) {
    return absl::InvalidArgumentError(absl::StrFormat("the %s is %s", what, builder.problem()));
  }
  *node = builder.Take();
  return absl::OkStatus();
}

// Applies a patch as RFC 7386 specifies.
void Apply(Node&& patch, Node* target) {
  if (!patch.is_object) {
    *target = std::move(patch);
    return;
  }
  if (!target->is_object) *target = {.is_object = true};
  for (auto& [name, member] : patch.members) {
    if (member.is_null()) {
      target->members.erase(name);
    } else {
      Apply(std::move(member), &target->members[name]);
    }
  }
}

// Makes `earlier` the patch that has the effect of both. Returns false if there is none: for example, if the earlier
// one sets a number where the later one makes an object, because a patch can only change the members of an object.
bool Compose(Node&& later, Node* earlier) {
  if (!later.is_object) {
    *earlier = std::move(later);
    return true;
  }
  if (!earlier->is_object) return false;
  for (auto& [name, member] : later.members) {
    const auto it = earlier->members.find(name);
    if (it == earlier->members.end()) {
      earlier->members.emplace(name, std::move(member));
    } else if (!Compose(std::move(member), &it->second)) {
      return false;
    }
  }
  return true;
}

}  // namespace

absl::Status ApplyJsonMergePatches(std::optional<std::string_view> base, std::span<const std::string_view> patches,
                                   std::string* result) {
  Node target{.text = "null"};
  if (base.has_value()) RETURN_IF_ERROR(Parse(*base, "value", &target));
  for (const std::string_view text : patches) {
    Node patch;
    RETURN_IF_ERROR(Parse(text, "patch", &patch));
    Apply(std::move(patch), &target);
  }
  AppendTo(result, target);
  return absl::OkStatus();
}

absl::StatusOr<bool> CombineJsonMergePatches(std::span<const std::string_view> patches, std::string* result) {
  Node combined;
  RETURN_IF_ERROR(Parse(patches.front(), "patch", &combined));
  for (const std::string_view text : patches.subspan(1)) {
    Node patch;
    RETURN_IF_ERROR(Parse(text, "patch", &patch));
    if (!Compose(std::move(patch), &combined)) return false;
  }
  AppendTo(result, combined);
  return true;
}

}  // namespace sepal
