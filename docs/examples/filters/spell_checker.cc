// A spell checker: a word that is not in the filter of the word list is certainly wrong.
//   spell_checker WORDS < TEXT        prints the words of TEXT that are not in the list WORDS, one a line
//   spell_checker WORDS --measure     misspells the list, and prints how many mistakes pass
// On Debian: apt install wamerican; spell_checker /usr/share/dict/words < letter.txt
#include <cctype>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "example.h"
#include "sepal/filter.h"

namespace {

// The words of a text, in lower case.
std::unordered_set<std::string> WordsOf(std::istream& text) {
  std::unordered_set<std::string> words;
  std::string word;
  for (char c; text.get(c);) {
    if (std::isalpha(static_cast<unsigned char>(c)) != 0 || (c == '\'' && !word.empty())) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!word.empty()) {
      words.insert(std::exchange(word, ""));
    }
  }
  if (!word.empty()) words.insert(word);
  return words;
}

// Letters that are swapped, changed and missing, at every place of every word.
int Measure(const sepal::filters::StaticFilter& filter, const std::unordered_set<std::string>& words) {
  std::unordered_set<std::string> mistakes;
  const auto add = [&](std::string word) {
    if (!words.contains(word)) mistakes.insert(std::move(word));
  };
  for (const std::string& word : words) {
    for (size_t i = 0; i < word.size(); ++i) {
      std::string wrong = word;
      if (i > 0) std::swap(wrong[i - 1], wrong[i]);
      add(wrong);
      wrong = word;
      for (const char letter : std::string_view("aeionrst")) {
        wrong[i] = letter;
        add(wrong);
      }
      add(word.substr(0, i) + word.substr(i + 1));
    }
  }
  uint64_t passed = 0, letters = 0;
  for (const std::string& mistake : mistakes) passed += filter.MayContain(mistake);
  for (const std::string& word : words) letters += word.size() + 1;
  const auto bytes = static_cast<double>(filter.MemoryBytes());
  std::printf("%zu words of %llu bytes in %.0f bytes, %.2f bits each: %.0f %% of the list saved\n", words.size(),
              static_cast<unsigned long long>(letters), bytes, bytes * 8 / static_cast<double>(words.size()),
              100 - 100 * bytes / static_cast<double>(letters));
  return example::Agrees("mistakes that pass", passed, mistakes.size(), filter.CurrentRate())
             ? 0
             : example::Fail("that is not what theory says");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return example::Fail("usage: spell_checker WORDS [--measure] < TEXT");
  std::ifstream list(argv[1]);
  if (!list) return example::Fail(std::string(argv[1]) + " cannot be read");
  const std::unordered_set<std::string> words = WordsOf(list);
  const std::vector<std::string_view> keys(words.begin(), words.end());
  const auto filter = sepal::filters::StaticFilter::Build(keys);
  if (!filter.ok()) return example::Fail(filter.status().ToString());
  for (const std::string& word : words) {
    if (!filter->MayContain(word)) return example::Fail(word + " is in the list, and was not found");
  }
  if (argc > 2 && std::string_view(argv[2]) == "--measure") return Measure(*filter, words);
  for (const std::string& word : WordsOf(std::cin)) {
    if (!filter->MayContain(word)) std::printf("%s\n", word.c_str());
  }
  return 0;
}
