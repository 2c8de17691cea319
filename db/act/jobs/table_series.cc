#include "db/act/jobs/table_series.h"

#include "util/base/status.h"

namespace sepal {

absl::Status TableSeries::Add(const InternalKeyView& key, std::string_view value) {
  if (output_ == nullptr) {
    ASSIGN_OR_RETURN(output_, TableOutput::Create(context_, level_));
  }
  return output_->Add(key, value);
}

absl::Status TableSeries::EndTable() {
  if (output_ == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(TableMetadata table, output_->Finish(run_));
  output_.reset();
  tables_.push_back(std::move(table));
  return absl::OkStatus();
}

}  // namespace sepal
