// SPDX-License-Identifier: Apache-2.0
#include "planner/report/export_onnx.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>

#include "model/error.h"
#include "model/xla/import_file.h"
#include "planner/job/job.h"
#include "traces/damaged.h"
#include "traces/export/settings/settings.h"
#include "traces/verdict.h"

namespace superstep {
namespace {

using nlohmann::json;

struct Asked {
  Job job;
  std::int64_t micro_batch = 1;
};

// Returns the report's job and the plan's micro-batch. Only number formats stay pinned: the model depends on no further
// pin.
Asked asked_of(const ReportFile& report) {
  const std::string where = report.path().string();
  const json plan = exports::read_object(report.index().plan().plan_json(), where, "plan");
  json job = exports::read_object(report.index().job_json(), where, "job");
  std::string onnx;
  std::int64_t micro_batch = 1;
  try {
    job["plan"] = {{"precision", plan.value("precision", json::object())}};
    onnx = job.value("/model/onnx"_json_pointer, job.value("/model/hlo"_json_pointer, ""));
    micro_batch = plan.value("micro_batch", micro_batch);
  } catch (const json::exception& e) {
    throw Error(where, std::string("its plan or job cannot be read (") + e.what() + "); write the report again");
  }
  if (micro_batch < 1) throw Error(where, "found micro_batch " + std::to_string(micro_batch) + ", expected at least 1");
  const auto beside = std::filesystem::path(where).parent_path() / onnx;
  if (!onnx.empty() && !std::filesystem::exists(onnx) && !std::filesystem::exists(beside))
    throw Error(where, "its job names the model \"" + onnx +
                           "\", which is neither in the current folder nor beside the report; export in the folder of "
                           "the job");
  return {read_job(job, where), micro_batch};
}

Annotation annotation_of(const ReportFile& report) {
  const report::Index& index = report.index();
  Annotation a;
  a.text = index.title() + "\n" + index.plan().label() + "\n" + verdict_sentence(index);
  a.metadata = {{"superstep.plan", index.plan().plan_json()},
                {"superstep.label", index.plan().label()},
                {"superstep.job", index.job_json()},
                {"superstep.created_by", index.created_by()}};
  const auto stage = report.column_integers("unit.stage"), ipu = report.column_integers("unit.ipu_class"),
             phase = report.column_integers("unit.phase");
  check_rows(report, "unit.*", stage.size(), ipu, phase);
  for (std::size_t u = 0; u < stage.size(); ++u) a.units.push_back({stage[u], ipu[u], phase[u]});
  return a;
}

void check_units(const ReportFile& report, const Graph& graph, const Annotation& annotation) {
  const TextColumn names = report.column_texts("unit.name");
  bool same = names.size() == graph.units.size() && annotation.units.size() == graph.units.size();
  for (std::size_t u = 0; same && u < names.size(); ++u) same = names[u] == graph.units[UnitId(u)].name;
  if (!same) throw Error(report.path().string(), "its units are not those of the model, which changed since");
}

}  // namespace

void write_onnx(const exports::ReportPointer& report, const exports::Options&, std::ostream& out) {
  if (!report->index().has_plan() || !report->has_column("unit.name"))
    throw Error(report->path().string(), "has no graph of the model; `plan` and `estimate` write it");
  const auto [job, micro_batch] = asked_of(*report);
  const Annotation annotation = annotation_of(*report);
  if (job.model.zoo) {
    const GraphUse use = job.task == Task::training ? GraphUse::training : GraphUse::inference;
    const Graph graph = build(*job.model.zoo, micro_batch, job.pins.precision.weights, use);
    check_units(*report, graph, annotation);
    out << annotated_onnx(graph, annotation);
    return;
  }
  const ImportOptions options = import_options(job, micro_batch);
  const ImportResult imported = import_file(job.model.onnx, options);
  if (!imported.unsupported.empty()) throw Error(job.model.onnx, "has nodes that are not supported any more");
  check_units(*report, imported.graph, annotation);
  out << annotated_file(job.model.onnx, options, imported, annotation);
}

}  // namespace superstep
