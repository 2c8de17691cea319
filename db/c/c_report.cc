// The C interface: the reports of a repair and of an explanation.
#include "db/c/c_types.h"
#include "sepal/explanation.h"

namespace {

using sepal::NewCopy;
using sepal::SaveError;

// Returns the report's text and destroys the report.
char* TextOf(sepal_repair_report_t* report) {
  char* const text = report == nullptr ? nullptr : NewCopy(report->rep.ToString());
  delete report;
  return text;
}

const char* DataOrNull(const std::optional<std::string>& bytes) { return bytes.has_value() ? bytes->data() : nullptr; }

using Progress = void (*)(void* state, uint64_t done_bytes, uint64_t total_bytes);

sepal_repair_report_t* Repair(const sepal_options_t* options, const char* name, sepal::RepairOptions repair,
                              void* state, Progress progress, char** errptr) {
  if (progress != nullptr) {
    repair.progress = [state, progress](uint64_t done, uint64_t total) { progress(state, done, total); };
  }
  absl::StatusOr<sepal::RepairReport> report = sepal::DB::Repair(options->Resolved(), name, repair);
  return SaveError(errptr, report.status()) ? nullptr : new sepal_repair_report_t{std::move(report).value()};
}

static_assert(static_cast<int>(sepal::ExplainedSource::Kind::kTable) == sepal_in_table);
static_assert(static_cast<int>(sepal::ExplainedSource::Answer::kLaneSaysNo) == sepal_lane_says_no);
static_assert(static_cast<int>(sepal::ExplainedSource::Answer::kOperand) == sepal_explained_operand);
static_assert(static_cast<int>(sepal::ExplainedSource::Answer::kExpired) == sepal_explained_expired);

}  // namespace

extern "C" {

// --- repair ---

sepal_repair_report_t* sepal_repair_db_report(const sepal_options_t* options, const char* name, unsigned char dry_run,
                                              char** errptr) {
  return sepal_repair_db_with_progress(options, name, dry_run, nullptr, nullptr, errptr);
}
sepal_repair_report_t* sepal_repair_db_with_progress(const sepal_options_t* options, const char* name,
                                                     unsigned char dry_run, void* state,
                                                     void (*progress)(void*, uint64_t, uint64_t), char** errptr) {
  return Repair(options, name, {.dry_run = dry_run != 0}, state, progress, errptr);
}
sepal_repair_report_t* sepal_repair_db_logs_lost(const sepal_options_t* options, const char* name,
                                                 unsigned char dry_run, void* state,
                                                 void (*progress)(void*, uint64_t, uint64_t), char** errptr) {
  return Repair(options, name, {.dry_run = dry_run != 0, .logs_lost = true}, state, progress, errptr);
}

char* sepal_repair_db(const sepal_options_t* options, const char* name, char** errptr) {
  return TextOf(sepal_repair_db_report(options, name, 0, errptr));
}
char* sepal_repair_db_dry_run(const sepal_options_t* options, const char* name, char** errptr) {
  return TextOf(sepal_repair_db_report(options, name, 1, errptr));
}

void sepal_repair_report_destroy(sepal_repair_report_t* report) { delete report; }
char* sepal_repair_report_string(const sepal_repair_report_t* report) { return NewCopy(report->rep.ToString()); }

void sepal_repair_report_summary(const sepal_repair_report_t* report, sepal_repair_summary_t* summary, size_t size) {
  const sepal::RepairReport& r = report->rep;
  const sepal_repair_summary_t whole = {.changed = r.changed,
                                        .dry_run = r.dry_run,
                                        .dropped = r.dropped.size(),
                                        .put_aside = r.put_aside.size(),
                                        .tables_kept = r.tables_kept,
                                        .tables_rewritten = r.tables_rewritten,
                                        .updates_from_logs = r.updates_from_logs};
  sepal::ToCaller(whole, summary, size);
}

unsigned char sepal_repair_report_dropped(const sepal_repair_report_t* report, size_t index,
                                          sepal_dropped_data_t* dropped, size_t size) {
  if (index >= report->rep.dropped.size()) return 0;
  const sepal::DroppedData& d = report->rep.dropped[index];
  const sepal_dropped_data_t whole = {.file = d.file.c_str(),
                                      .column_family = d.column_family.c_str(),
                                      .first_key = DataOrNull(d.first_key),
                                      .first_key_len = d.first_key.value_or("").size(),
                                      .last_key = DataOrNull(d.last_key),
                                      .last_key_len = d.last_key.value_or("").size(),
                                      .begin_offset = d.begin_offset,
                                      .end_offset = d.end_offset,
                                      .reason = d.reason.c_str()};
  sepal::ToCaller(whole, dropped, size);
  return 1;
}

const char* sepal_repair_report_put_aside(const sepal_repair_report_t* report, size_t index) {
  return index < report->rep.put_aside.size() ? report->rep.put_aside[index].c_str() : nullptr;
}

// --- how a lookup finds its answer ---

sepal_explanation_t* sepal_explanation_create(sepal_t* db, const sepal_readoptions_t* options,
                                              sepal_column_family_t* family, const char* key, size_t keylen,
                                              char** errptr) {
  absl::StatusOr<sepal::GetExplanation> explanation =
      db->rep->ExplainGet(sepal::FamilyOf(db, family), sepal::BytesOf(key, keylen), options->rep);
  return SaveError(errptr, explanation.status()) ? nullptr : new sepal_explanation_t{std::move(explanation).value()};
}

char* sepal_explain_get(sepal_t* db, const sepal_readoptions_t* options, sepal_column_family_t* family, const char* key,
                        size_t keylen, char** errptr) {
  const std::unique_ptr<sepal_explanation_t> explanation(
      sepal_explanation_create(db, options, family, key, keylen, errptr));
  return explanation == nullptr ? nullptr : NewCopy(explanation->rep.ToString());
}

void sepal_explanation_destroy(sepal_explanation_t* explanation) { delete explanation; }
char* sepal_explanation_string(const sepal_explanation_t* explanation) { return NewCopy(explanation->rep.ToString()); }

void sepal_explanation_get(const sepal_explanation_t* explanation, sepal_explained_get_t* get, size_t size) {
  const sepal::GetExplanation& e = explanation->rep;
  const sepal_explained_get_t whole = {
      .key = e.key.data(),
      .keylen = e.key.size(),
      .column_family = e.column_family.c_str(),
      .found = e.found,
      .value_bytes = e.value_bytes,
      .visible_sequence = e.visible_sequence,
      .runs = e.runs,
      .runs_without_file = e.runs_without_file,
      .sources = e.sources.size(),
      .bytes_read = e.bytes_read,
      .micros = e.micros,
      .merge_operands = e.merge_operands,
      .range_deleted_at = e.range_deleted_at,
      .expires = e.expires,
      .refused = e.refused,
      .filter_epoch = e.filter_epoch.c_str(),
      .filter_epoch_len = e.filter_epoch.size(),
      .expires_at_millis = e.expires_at.has_value() ? sepal::MillisOf(*e.expires_at) : 0};
  sepal::ToCaller(whole, get, size);
}

unsigned char sepal_explanation_source(const sepal_explanation_t* explanation, size_t index,
                                       sepal_explained_source_t* source, size_t size) {
  if (index >= explanation->rep.sources.size()) return 0;
  const sepal::ExplainedSource& s = explanation->rep.sources[index];
  const sepal_explained_source_t whole = {.kind = static_cast<int>(s.kind),
                                          .answer = static_cast<int>(s.answer),
                                          .sequence = s.sequence,
                                          .value_bytes = s.value_bytes,
                                          .level = s.level,
                                          .run = s.run,
                                          .file_number = s.file_number,
                                          .was_open = s.was_open,
                                          .has_guard = s.has_guard,
                                          .guard_cached = s.guard_cached,
                                          .guard_admits = s.guard_admits,
                                          .blocks = s.blocks.size(),
                                          .bytes_read = s.bytes_read,
                                          .micros = s.micros};
  sepal::ToCaller(whole, source, size);
  return 1;
}

unsigned char sepal_explanation_block(const sepal_explanation_t* explanation, size_t source, size_t index,
                                      sepal_explained_block_t* block, size_t size) {
  if (source >= explanation->rep.sources.size()) return 0;
  const std::vector<sepal::ExplainedBlock>& blocks = explanation->rep.sources[source].blocks;
  if (index >= blocks.size()) return 0;
  const sepal::ExplainedBlock& b = blocks[index];
  const sepal_explained_block_t whole = {.offset = b.offset,
                                         .stored_bytes = b.stored_bytes,
                                         .leaf_page = b.leaf_page,
                                         .leaf_page_cached = b.leaf_page_cached,
                                         .fence = b.fence,
                                         .fences = b.fences,
                                         .has_lane = b.has_lane,
                                         .lane_admits = b.lane_admits,
                                         .cached = b.cached,
                                         .key_present = b.key_present};
  sepal::ToCaller(whole, block, size);
  return 1;
}

}  // extern "C"
