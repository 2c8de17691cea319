#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "tests/reliability/script.h"
#include "util/base/random.h"

namespace sepal::reliability {

namespace {

// The first ten are short.
constexpr const char* kScripts[][3] = {
    {"one-put", "", "p1!"},
    {"two-syncs", "", "p1! p2 p1!"},
    {"flush-once", "", "p1 p2 d1 flush p3!"},
    {"reopen-once", "", "p1 p2! reopen p1! d2"},
    {"kill-once", "", "p1 p2! p3 kill p4!"},
    {"power-once", "logged", "p1! p2 power p2! p3"},
    {"family-once", "", "create:f [p1 f/p1]! f/p2 flush:f"},
    {"drop-once", "", "create:f f/p1! flush:f drop:f p1!"},
    {"compact-once", "none", "p1 p2 flush p1 d2 compact"},
    {"roll-once", "roll", "p1 flush p2 flush p3!"},

    {"plain", "logged", "30{ p+ } flush 30{ p+ } sync read compact read 10{ p?! }"},
    {"all-synced", "", "40{ p?! } flush 10{ p?! }"},
    {"never-synced", "", "60{ p? } read 60{ p?*80 } read"},
    {"overwrites", "tiny", "12{ p1*200 p2*200 p3*200 flush } compact read"},
    {"deletes", "tiny", "fill:0-30*60 flush 20{ d? } flush read compact read d1 d2! compact read"},
    {"delete-all", "tiny leveled", "fill:0-30*60 compact 40{ d+ } flush compact read p3! read"},
    {"single-deletes", "tiny",
     "3{ fill:900-910*40 p+ s903 s904 flush s905 s906 p+ s907 flush s900 compact s901 read }"},
    {"batches", "", "10{ [p1 p2 p3] [d1 p2*300 p4]! [p5 d5 p5] } flush read 5{ [p? p? p? d?] } reopen read"},
    {"family-batches", "",
     "create:f create:g 8{ [p+ f/p+ g/p+] [f/d1 g/p2 p3]! } flush:f read 4{ [p1 f/p1 g/p1] } flush "
     "kill read"},
    {"family-churn", "", "3{ create:f 5{ f/p+ } flush:f drop:f p+ } create:f f/p1! reopen f/p2 drop:f reopen read"},
    {"many-families", "roll",
     "create:a create:b create:c create:d [a/p1 b/p1 c/p1 d/p1]! flush:a flush:c drop:b reopen "
     "[a/p2 c/p2 d/p2]! drop:d compact:a read"},
    {"idle-family", "shortlog", "create:f f/p1 30{ p+*200 } wait read f/p2 30{ p+*200 } read kill read"},
    {"snapshots", "tiny",
     "fill:0-20*50 snap 20{ p? } flush snap 10{ d? } compact read snap 20{ p? } compact read unsnap "
     "compact read"},
    {"snapshot-deletes", "tiny leveled", "fill:0-20*50 flush snap 30{ d+ } flush compact read unsnap compact read"},
    {"names", "tiny",
     "fill:0-12*50 name 8{ p? } flush name 6{ d? } compact unname read p?! reopen name p? kill 4{ p? } power compact "
     "read "
     "unname unname compact read"},
    {"names-roll", "roll leveled",
     "create:f 4{ p? f/p? name p? r? f/d? flush } unname flush:f read power p? compact compact:f unname kill read"},
    {"iterators", "tiny", "fill:0-30*50 iter 20{ p? d? } flush read iter compact read uniter compact read"},
    {"iterators-families", "tiny", "create:f 20{ p+ f/p+ } iter flush flush:f drop:f read uniter read"},
    {"reopens", "", "5{ 6{ p? } p?! reopen } read"},
    {"reopens-dirty", "logged", "5{ 6{ p? } flush 3{ p? } reopen } compact read reopen read"},
    {"kills", "", "6{ 5{ p?*60 } p?! 2{ p? } kill }"},
    {"power-cuts", "", "6{ 5{ p?*60 } p?! 2{ p? } power }"},
    {"power-flushes", "tiny", "5{ 6{ p?*120 } flush 2{ p? } power } compact read"},
    {"power-families", "", "create:f 4{ [p? f/p?] [p? f/p?]! f/p? flush:f p? power } read"},
    {"leveled", "tiny leveled", "8{ 12{ p?*90 } flush } read compact read"},
    {"leveled-zstd", "tiny leveled zstd", "6{ 12{ p?*90 d? } flush } wait read reopen 12{ p? } compact verify"},
    {"lazy-lz4", "tiny lz4 wide", "8{ 12{ p?*90 } flush } wait read compact verify"},
    {"bare", "tiny bare", "6{ 12{ p?*60 d? } flush } read compact read"},
    {"log-directory", "logdir", "20{ p+ } p1! flush 10{ p+ } p2! reopen 5{ p+ } kill p3! power p4!"},
    {"log-directory-families", "logdir roll", "create:f 10{ p+ f/p+ } flush:f p1! reopen f/p1! drop:f flush p2!"},
    {"rolling-manifest", "roll logged", "10{ p? p? flush } reopen 5{ p? flush } compact read"},
    {"short-logs", "shortlog tiny", "60{ p?*150 } p?! read 30{ p?*150 } reopen read"},
    {"large-values", "onefile", "p1*5000 p2*9000! flush p1*9000 p3*100 [p1*4000 p2*4000]! compact read kill read"},
    {"range-deletes", "tiny logged",
     "fill:0-20*60 flush r3-9 p5 flush r0-4! p2 compact read r10-12 power read r1-30 flush wait read reopen p3! read"},
    {"range-deletes-snapshots", "tiny leveled",
     "fill:0-20*60 compact snap r2-8 p4 flush read compact read unsnap r5-9! flush compact read kill r0-99 read"},
    {"range-deletes-batches", "roll",
     "create:f 4{ [p? f/p? r?] [f/r2-9 f/p3 p?]! p?*90 } flush f/r? flush:f read kill [r0-5 p1]! power read compact "
     "read"},
    {"range-compactions", "tiny",
     "fill:0-30*80 flush fill:5-15*80 flush compact:0-10 compact:8-20 fill:0-4 "
     "compact:2-3 read compact"},
    {"background", "tiny wide", "80{ p?*120 } wait read 40{ p?*120 d? } wait verify read"},
    {"background-families", "tiny wide", "create:f 40{ p?*120 f/p?*120 } wait read 20{ f/d? p? } reopen wait read"},
    {"empty", "", "reopen flush compact reopen read"},
    {"empty-values", "", "p1*0 p2*0! flush d1 p1*0 compact read reopen read"},
    {"verify-often", "tiny zstd", "4{ fill:0-12*100 flush verify } compact verify reopen verify"},
    // Records of more than a sector: what a failed sync lost is not written again by chance.
    {"streamed-sectors", "",
     "4{ w?*700 p? w?*700! } flush 4{ w?*300 } kill read 4{ w?*700 w?! } power read compact read"},
    {"synced-sectors", "", "24{ p?*700! } read"},
    {"family-sectors", "", "create:f 4{ f/p?*700 p?*700 } flush 3{ p?*700 f/p?*700 } flush:f p? read"},
    {"unsynced-sectors", "", "3{ p?*1300 } sync 8{ p?*1300 } kill 4{ p?*1300 } read"},
    {"synced-batches", "", "create:f 12{ [p?*600 f/p?*600]! p?*600 } read kill 6{ [p?*600 f/d?]! }"},
    {"values", "values", "12{ p?*200 p? } p?*300! flush 8{ p?*200 } kill read 6{ p?*200 p?! } power read compact read"},
    {"values-families", "values tiny",
     "create:f 6{ [p?*200 f/p?*90] f/p?*300! } flush:f read power [p? f/p?*200] flush kill read drop:f compact read"},
    {"values-overwrites", "values tiny leveled lz4",
     "4{ p1*300 p2*200 p3*200 snap flush } compact unsnap compact read reopen read p1! d2 compact read"},
    {"values-checkpoints", "values logdir roll zstd",
     "6{ p?*200 } checkpoint flush p?*200! backup 4{ p?*200 d? } backup read reopen r0-5 p?*200 flush compact read"},
    {"values-codecs", "values tiny roll",
     "create:d create:e create:f create:g 4{ [d/p?*300 e/p?*300] f/p?*300! g/p?*300 [e/p?*200 g/p?*400]! p? } flush:g "
     "power 3{ f/p?*500! e/p?*90 d/p?*200 g/p?*200! } read checkpoint flush:e kill f/d? compact:f compact:g read"},
    {"values-collected", "shortvalues tiny",
     "fill:0-12*200 8{ p?*200 p1*200 p?*200 p4*200 p?*200 p9*200 flush wait } read power 4{ 3{ p?*200! p?*200 } flush "
     "wait } "
     "kill read compact wait read"},
    {"values-expiring", "values tiny",
     "6{ x?*200 p? [x?*90 p?*200] } x?*300! flush 6{ x?*200 d? } kill read compact 6{ x?*200 x?! } power read snap "
     "w1*300 "
     "x1*200 flush compact unsnap checkpoint reopen read"},
    {"values-expiring-collected", "shortvalues tiny",
     "fill:0-12*200 8{ x?*200 x1*200 x?*200 x4*200 p?*200 x9*200 flush wait } read power 4{ 3{ x?*200! x?*200 } flush "
     "wait } kill read compact wait read"},
    {"merges", "merges tiny",
     "20{ m1 m2! m? } read flush 10{ m1*60 m2 d? } snap 12{ m1 m2 m? } kill read flush 6{ m1 p2 m2! } power read "
     "compact "
     "unsnap compact reopen read"},
    {"merges-snapshots", "merges",
     "m1 m2 4{ snap 30{ m1 m2*40 m3 } p3 read } flush read compact read kill 20{ m1! m2 } unsnap r2-4 m2 m3 power read "
     "compact read"},
    {"merges-families", "merges roll values",
     "create:f 4{ [m1 f/m1 p2*200 f/m2] 6{ f/m1 m1 m2*70 } [m2 m2 r1-2 m1]! flush:f } read power 5{ m1 f/m1! } name "
     "kill "
     "read compact:f [m1 f/m1]@ m2 commit unname flush read"},
    {"values-unmapped", "values unmapped", "4{ 4{ p?*700 } p?*700! flush 2{ p?*700 } power p? kill } compact read"},
    {"streams-families", "values tiny logdir",
     "create:f 4{ w?*200! f/w?*300 p?*200 } checkpoint flush:f w?*300! backup power read w1*200 snap w1*300 flush d? "
     "compact unsnap read reopen w1*200! drop:f compact read"},
    {"checkpoints", "tiny",
     "create:f fill:0-12*90 f/p1 flush p1 [p2 f/p2] checkpoint 4{ p? d? } drop:f flush p3! checkpoint kill p? "
     "checkpoint"},
    {"prepared-once", "", "[p1 p2]@ p3 commit"},
    {"prepared", "tiny",
     "6{ [p? d? p?]@ 2{ p? } flush } commit rollback power read commit p?! kill [r2-5 p9*700]@ commit read rollback "
     "compact reopen commit read power commit commit read"},
    {"prepared-families", "roll values",
     "create:f [f/p1*200 p2]@ f/p3! flush:f [f/p4 p5]@ flush power commit [p6*200 f/d3]@ kill read rollback commit "
     "flush:f 8{ p?*90 } read"},
    {"prepared-checkpoints", "tiny logdir",
     "[p1 p2*300]@ p3 checkpoint [p4]@ commit flush backup 6{ p?*90 } rollback backup [p5]@ power checkpoint commit "
     "kill backup read"},
    {"histories", "tiny roll history",
     "create:f fill:0-6*60 4{ p?*90 d? f/p?*60 } moment flush p1 p1 moment 4{ p? d? f/p? } r2-5 f/r0-9 moment compact "
     "power read p1 moment 4{ p?*90 } flush wait kill moment drop:f compact p? 3{ p1*60 moment } p1 power read reopen "
     "compact read"},
    {"histories-once", "history", "3{ p1 moment } p1! flush"},
    {"histories-values", "values tiny history logdir",
     "4{ p?*300 p1*200 d? } moment checkpoint flush 4{ p?*300 p1*90 } moment compact wait power read checkpoint p1*200 "
     "moment compact read"},
    {"backups", "tiny zstd logdir",
     "fill:0-12*90 flush p1 backup 4{ p? d? } flush backup compact p2! backup reopen backup"},
};

constexpr size_t kShort = 10;
constexpr uint64_t kRandomScripts = 10;

}  // namespace

Script RandomScript(uint64_t seed, int operations) {
  static constexpr const char* kSettings[] = {"",          "tiny",           "tiny leveled",        "tiny zstd wide",
                                              "tiny bare", "logdir",         "roll tiny",           "shortlog",
                                              "lz4 roll",  "none tiny roll", "leveled logdir tiny", "onefile zstd"};
  static constexpr const char* kWords[] = {
      "p?",        "p?",           "p?*150",      "p?!",      "d?",     "r?",       "p+",
      "p+*90",     "[p? d? p?]",   "[p? p?*80]!", "p?*700!",  "f/p?",   "f/p?*100", "f/d?",
      "[p? f/p?]", "[f/p? d?]!",   "flush",       "flush:f",  "sync",   "wait",     "compact",
      "compact:f", "compact:3-17", "snap",        "unsnap",   "iter",   "uniter",   "read",
      "reopen",    "kill",         "power",       "create:f", "drop:f", "verify",
  };
  Random random(seed);
  Script script{.name = absl::StrFormat("random-%u", seed),
                .settings = kSettings[random.Uniform(std::size(kSettings))],
                .text = "create:f"};
  // From a source of its own: seeds keep the script that they had without.
  if (Random(Mix64(seed + 1)).OneIn(3)) script.settings += " unmapped";
  if (Random(Mix64(seed + 2)).OneIn(3)) script.settings += " values";
  const bool merges = Random(Mix64(seed + 3)).OneIn(3);
  const bool expires = Random(Mix64(seed + 4)).OneIn(3);
  if (merges) script.settings += " merges";
  for (int i = 0; i < operations; ++i) {
    // Half of all are plain writes.
    const size_t word = random.OneIn(2) ? random.Uniform(16) : random.Uniform(std::size(kWords));
    std::string text = kWords[word];
    if (merges && i % 2 == 0) absl::StrReplaceAll({{"p?", "m?"}}, &text);
    if (expires && i % 3 == 0) absl::StrReplaceAll({{"p?", "x?"}}, &text);
    script.text += " " + text;
  }
  return script;
}

const std::vector<Script>& AllScripts() {
  static const std::vector<Script> all = [] {
    std::vector<Script> scripts;
    for (const auto& script : kScripts) scripts.push_back({script[0], script[1], script[2]});
    for (uint64_t seed = 1; seed <= kRandomScripts; ++seed) scripts.push_back(RandomScript(seed, 60));
    return scripts;
  }();
  return all;
}

std::vector<Script> ShortScripts() { return {AllScripts().begin(), AllScripts().begin() + kShort}; }

}  // namespace sepal::reliability
