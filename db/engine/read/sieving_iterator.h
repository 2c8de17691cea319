// An iterator that shows only the keys that a key filter lets pass (ReadOptions::key_filter). It is a class of its own
// so that iterators without a filter pay nothing. In a plain block, where each entry is a distinct visible key, it asks
// about many keys at once.
#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "absl/base/attributes.h"
#include "db/engine/read/block_sieve.h"
#include "db/engine/read/database_iterator_impl.h"
#include "db/engine/read/key_sieve.h"

namespace sepal {

class SievingIterator : public DatabaseIterator {
 public:
  SievingIterator(DatabaseIteratorOptions options, std::unique_ptr<InternalIterator> entries)
      : DatabaseIterator(std::move(options), std::move(entries)), sieve_(this->options().key_filter) {}

  void SeekToFirst() override {
    DatabaseIterator::SeekToFirst();
    BeginForward();
  }
  void Seek(std::string_view target) override {
    DatabaseIterator::Seek(target);
    BeginForward();
  }
  void SeekToLast() override {
    DatabaseIterator::SeekToLast();
    GoBackward();
  }
  void SeekForPrev(std::string_view target) override {
    DatabaseIterator::SeekForPrev(target);
    GoBackward();
  }
  void Next() override {
    if (sieve_.PassesUnasked()) [[likely]]
      return DatabaseIterator::Next();
    NextAsked();
  }
  void Prev() override {
    DatabaseIterator::Prev();
    GoBackward();
  }

 private:
  void BeginForward() {
    block_sieve_.Forget();
    GoForward();
  }
  ABSL_ATTRIBUTE_NOINLINE void NextAsked() {
    if (block_sieve_.KnowsAhead() && PlainBlock() != nullptr) {
      block_sieve_.PassCurrent();
      if (ToPassing()) return;
    }
    DatabaseIterator::Next();
    GoForward();
  }
  void GoForward() {
    while (DatabaseIterator::Valid() && !sieve_.PassesUnasked()) {
      BlockCursor* const block = PlainBlock();
      const bool asked = block != nullptr && block_sieve_.Ask(block, &sieve_);
      if (asked ? ToPassing() : sieve_.Passes(DatabaseIterator::key())) return;
      DatabaseIterator::Next();
    }
  }
  // Returns true if an entry that passes, or the upper bound, ends the search.
  bool ToPassing() {
    bool found = false;
    if (const uint32_t skipped = block_sieve_.Skip(&found); skipped > 0) SkipInPlainBlock(skipped);
    return found || !DatabaseIterator::Valid();
  }
  void GoBackward() {
    block_sieve_.Forget();
    while (DatabaseIterator::Valid() && !sieve_.Passes(DatabaseIterator::key())) DatabaseIterator::Prev();
  }

  KeySieve sieve_;
  BlockSieve block_sieve_;
};

}  // namespace sepal
