// Unwanted words in a text, also as two words, and with digits in the place of letters: what the filter of the list
// calls absent needs no look at the list, and the list need not be where the text is.
#include <cctype>
#include <cstdio>
#include <random>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "example.h"
#include "sepal/filter.h"

namespace {

// "W0RD!" and "word" are one word.
std::string Plain(std::string_view written) {
  static constexpr std::string_view kDigits = "0134578@$", kLetters = "oieasstas";
  std::string word;
  for (const char c : written) {
    const size_t digit = kDigits.find(c);
    if (digit != std::string_view::npos) {
      word += kLetters[digit];
    } else if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return word;
}

std::string Letters(std::mt19937_64& random, size_t length) {
  std::string word;
  while (word.size() < length) word += static_cast<char>('a' + random() % 26);
  return word;
}

// As somebody writes it who knows that there is a list.
std::string Disguised(const std::string& word, std::mt19937_64& random) {
  std::string written;
  for (const char c : word) {
    written += c == 'o' ? '0' : c == 'e' ? '3' : random() % 2 == 0 ? static_cast<char>(std::toupper(c)) : c;
  }
  return written + "!";
}

}  // namespace

int main() {
  constexpr size_t kListed = 20'000, kWords = 500'000;
  std::mt19937_64 random(16);
  std::vector<std::string> list;  // every fourth is of two words
  while (list.size() < kListed) {
    const bool two = list.size() % 4 == 0;
    list.push_back(two ? Letters(random, 5) + " " + Letters(random, 5) : Letters(random, 6));
  }
  auto filter = sepal::filters::BloomFilter::ForKeys(kListed, 0.001);
  if (!filter.ok()) return example::Fail(filter.status().ToString());
  for (const std::string& listed : list) filter->Add(listed);
  const std::unordered_set<std::string> exact(list.begin(), list.end());

  uint64_t hidden = 0, found = 0, asked = 0, clean = 0, lookups = 0;
  std::unordered_set<std::string> clean_asked, wrong;  // once for each, however often it comes
  std::string before;
  const auto read = [&](const std::string& written) {
    const std::string word = Plain(written);
    for (const std::string& key : {word, before + " " + word}) {
      ++asked;
      const bool maybe = filter->MayContain(key), unwanted = exact.contains(key);
      lookups += maybe;
      found += maybe && unwanted;
      if (!unwanted && clean_asked.insert(key).second && maybe) wrong.insert(key);
    }
    before = word;
  };
  for (size_t i = 0; i < kWords; ++i) {
    if (i % 1000 != 0) {
      read(Letters(random, 3 + random() % 6));
      continue;
    }
    const std::string& listed = list[random() % list.size()];
    const size_t space = listed.find(' ');
    read(Disguised(listed.substr(0, space), random));
    if (space != std::string::npos) read(Disguised(listed.substr(space + 1), random));
    ++hidden;
  }
  clean = clean_asked.size();
  std::printf("%zu words of text, %llu unwanted ones hidden in it; found with those that chance made: %llu\n", kWords,
              static_cast<unsigned long long>(hidden), static_cast<unsigned long long>(found));
  std::printf("%llu questions, %llu looks at the list: %.2f %% of them saved\n", static_cast<unsigned long long>(asked),
              static_cast<unsigned long long>(lookups),
              100 - 100.0 * static_cast<double>(lookups) / static_cast<double>(asked));
  if (found < hidden) return example::Fail("an unwanted word was let through");
  return example::Agrees("looks for a word that is not listed", wrong.size(), clean, filter->shape().RateAt(kListed))
             ? 0
             : example::Fail("that is not what theory says");
}
