// SPDX-License-Identifier: Apache-2.0
// What the batch page queues: a file that says what to plan, and what became of it. Plain data; knows no process.
#pragma once

#include <QByteArray>
#include <QJsonObject>
#include <QString>
#include <QStringList>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "traces/verdict.h"

namespace superstep::gui {

enum class BatchKind { job, sweep };
// done: it ended as it should, also where no plan fits.
enum class BatchState { waiting, running, done, failed, cancelled };

// What a child last said of itself. -1: it did not say.
struct BatchProgress {
  double share = 0;
  QString what;
  int done = -1, jobs = -1, without_plan = -1;  // of a sweep
  double seconds_left = -1;
};

// What came out: of a job what its report says, of a sweep's item what the command line says.
struct BatchResult {
  int item = -1;  // of a sweep
  QString grid;   // of a sweep: the values that the item has
  QString label;  // of the plan; empty: there is none
  Fit fit = Fit::unknown;
  double samples_per_second = 0, step_time_s = 0;
  double utilisation = -1;             // of the peak; -1: not known
  std::int64_t tile_peak_bytes = -1;   // -1: not known
  std::int64_t tile_limit_bytes = -1;  // -1: not known
  double gap = -1;                     // -1: not known
  QString verdict;                     // in a sentence: how fast, does it fit; or why there is no plan
  bool failed = false;                 // of a sweep: this combination makes no job
};

struct BatchItem {
  int id = 0;  // stays when places change
  QString path;
  BatchKind kind = BatchKind::job;
  int of_sweep = -1;  // a job: this item of the sweep at `path`; -1: the job at `path`
  QString output;     // report or results of a sweep; empty: not named yet
  // Either lets `output` be replaced: somebody chose it, or there is a file and this item wrote it.
  bool chosen = false, ours = false;
  BatchState state = BatchState::waiting;
  BatchProgress progress;
  double seconds = 0;                                         // that it has run
  double silent_seconds = 0;                                  // since the child said something
  QString message;                                            // why it failed, in full
  std::optional<BatchResult> result;                          // of a sweep: its fastest item
  std::shared_ptr<const std::vector<BatchResult>> rows = {};  // of a sweep; while it runs more are added at the end
  QString name() const;                                       // of the file, and which item
  bool ended() const { return state != BatchState::waiting && state != BatchState::running; }
};

QString state_text(const BatchItem& item);   // "running, 42 %"
QString detail_text(const BatchItem& item);  // one line: what it does, why it failed, or which plan came out

// How a child ended.
struct BatchEnd {
  bool by_itself = true;  // else it crashed or was never there: see `how`
  int exit_code = 0;
  QString how;        // "crashed", "cannot be started: ..."
  QString said;       // on standard error, but progress
  QByteArray output;  // standard output
};
// Sets state, message and results. `wrote`: the output is new.
void conclude(BatchItem& item, const BatchEnd& end, bool wrote);
// What the report at `path` says; throws Error when it cannot be read.
BatchResult result_of_report(const QString& path);
BatchResult sweep_row(const QJsonObject& row);  // of a line of progress, or of the items
// The items of `superstep sweep --json -`; throws Error when it is something else.
std::vector<BatchResult> results_of_sweep(const QByteArray& json);

}  // namespace superstep::gui
