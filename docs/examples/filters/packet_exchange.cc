// Nodes that meet now and then, and pass on packets (a network that tolerates delay): each sends a filter of what it
// has, and is sent what it certainly lacks. A false positive hides a packet once; another seed at the next meeting
// brings it to light.
#include <cstdio>
#include <random>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "example.h"
#include "sepal/filter.h"

namespace {

constexpr size_t kNodes = 40, kPackets = 4'000, kIdBytes = 16;

using Node = std::unordered_set<std::string>;

struct Traffic {
  uint64_t filter_bytes = 0, list_bytes = 0, packets = 0, lacking = 0, hidden = 0;
  double expected_hidden = 0;
};

// `from` sends what `to` lacks, by its filter.
bool Send(const Node& from, Node* to, uint64_t seed, Traffic* traffic) {
  auto filter = sepal::filters::BloomFilter::ForKeys(to->size(), 0.02, sepal::filters::BloomLayout::kBlocked, seed);
  if (!filter.ok()) return false;
  for (const std::string& id : *to) filter->Add(id);
  const std::string file = filter->Serialize();
  traffic->filter_bytes += file.size();
  traffic->list_bytes += to->size() * kIdBytes;
  const auto received = sepal::filters::ParseFilter(file, "what the other has");
  if (!received.ok()) return false;
  const double rate = filter->shape().RateAt(to->size());
  std::vector<std::string> sent;
  for (const std::string& id : from) {
    const bool has = to->contains(id), maybe = *sepal::filters::MayContain(*received, id);
    if (has && !maybe) return false;
    traffic->lacking += !has;
    traffic->hidden += maybe && !has;
    if (!has) traffic->expected_hidden += rate;
    if (!maybe) sent.push_back(id);
  }
  traffic->packets += sent.size();
  to->insert(sent.begin(), sent.end());
  return true;
}

}  // namespace

int main() {
  std::mt19937_64 random(14);
  std::vector<Node> nodes(kNodes);
  for (size_t i = 0; i < kPackets; ++i) nodes[i % kNodes].insert(example::RandomText(random, kIdBytes));
  Traffic traffic;
  uint64_t meetings = 0;
  const auto complete = [&] {
    for (const Node& node : nodes) {
      if (node.size() < kPackets) return false;
    }
    return true;
  };
  for (; !complete(); ++meetings) {
    const size_t one = random() % kNodes, other = (one + 1 + random() % (kNodes - 1)) % kNodes;
    const Node before = nodes[one];
    if (!Send(nodes[other], &nodes[one], random(), &traffic) || !Send(before, &nodes[other], random(), &traffic)) {
      return example::Fail("an exchange failed");
    }
  }
  std::printf("%zu nodes have all %zu packets after %llu meetings; each packet came to each node once: %llu packets\n",
              kNodes, kPackets, static_cast<unsigned long long>(meetings),
              static_cast<unsigned long long>(traffic.packets));
  std::printf("%llu bytes of filters, where lists of numbers of packets are %llu: %.1f %% of them saved\n",
              static_cast<unsigned long long>(traffic.filter_bytes),
              static_cast<unsigned long long>(traffic.list_bytes),
              100 - 100.0 * static_cast<double>(traffic.filter_bytes) / static_cast<double>(traffic.list_bytes));
  const bool once = traffic.packets == kPackets * (kNodes - 1);
  const bool agrees = example::Agrees("packets that a meeting hid", traffic.hidden, traffic.lacking,
                                      traffic.expected_hidden / static_cast<double>(traffic.lacking));
  return once && agrees ? 0 : example::Fail("that is not what theory says");
}
