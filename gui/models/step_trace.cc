// SPDX-License-Identifier: Apache-2.0
#include "gui/models/step_trace.h"

#include <algorithm>

#include "model/error.h"

namespace superstep::gui {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// The sum ahead of every row, in place.
void add_up(std::vector<std::int64_t>& values) {
  std::int64_t sum = 0;
  for (std::int64_t& value : values) {
    const std::int64_t here = value;
    value = sum;
    sum += here;
  }
  values.push_back(sum);
}

}  // namespace

std::int64_t StepTrace::cycles(int function) const {
  if (function < 0 || function >= static_cast<int>(functions.size())) return -1;
  const Function& f = functions[at(function)];
  return start[at(f.first + f.steps)] - start[at(f.first)];
}

WorkCycles StepTrace::between(std::int64_t first, std::int64_t last) const {
  WorkCycles sums;
  const std::int64_t all = start[at(last)] - start[at(first)];
  sums[Work::compute] = compute[at(last)] - compute[at(first)];
  sums[Work::exchange] = exchange[at(last)] - exchange[at(first)];
  if (!collective.empty()) sums[Work::collective] = collective[at(last)] - collective[at(first)];
  sums[Work::sync] = all - sums.total();
  return sums;
}

WorkCycles StepTrace::step_sums(std::int64_t row) const { return between(row, row + 1); }

std::int64_t StepTrace::row_at(const Function& f, std::int64_t cycle) const {
  const auto begin = start.begin() + f.first, end = begin + f.steps;
  return std::max(
      f.first, static_cast<std::int64_t>(std::upper_bound(begin, end, start[at(f.first)] + cycle) - start.begin()) - 1);
}

WorkCycles StepTrace::sums(int function, std::int64_t from, std::int64_t to) const {
  const Function& f = functions[at(function)];
  const std::int64_t zero = start[at(f.first)];
  from = std::max<std::int64_t>(from, 0);
  to = std::min(to, cycles(function));
  if (from >= to) return {};
  // Everything ahead of a time: whole steps, then the part of the one that it cuts.
  const auto ahead = [&](std::int64_t time) {
    const std::int64_t row = row_at(f, time);
    WorkCycles sums = between(f.first, row);
    std::int64_t rest = time - (start[at(row)] - zero);
    const WorkCycles cut = step_sums(row);
    for (const Work work : {Work::exchange, Work::collective, Work::compute, Work::sync}) {
      const std::int64_t part = std::min(rest, cut[work]);
      sums[work] += part;
      rest -= part;
    }
    return sums;
  };
  WorkCycles sums = ahead(to);
  const WorkCycles before = ahead(from);
  for (std::size_t i = 0; i < sums.by.size(); ++i) sums.by[i] -= before.by[i];
  return sums;
}

void StepTrace::visit(int function, std::int64_t from, std::int64_t to, std::int64_t least,
                      const std::function<void(std::int64_t, std::int64_t, std::int64_t)>& take) const {
  const Function& f = functions[at(function)];
  const std::int64_t zero = start[at(f.first)], end = f.first + f.steps;
  std::int64_t row = row_at(f, std::max<std::int64_t>(from, 0));
  while (row < end && start[at(row)] - zero < to) {
    const std::int64_t begin = start[at(row)];
    if (start[at(row + 1)] - begin >= least) {
      take(row, begin - zero, start[at(row + 1)] - zero);
      ++row;
      continue;
    }
    // As many short ones as make `least`, found by search: ten million cost no more than a screen full.
    auto next = std::lower_bound(start.begin() + row + 1, start.begin() + end, begin + least) - start.begin();
    if (start[at(next)] - start[at(next - 1)] >= least && next - 1 > row) --next;  // the last one can be seen by itself
    take(-1, begin - zero, start[at(next)] - zero);
    row = next;
  }
}

StepTrace load_step_trace(const ReportFile& report) {
  StepTrace out;
  if (!report.has_column("step.cycles")) return out;
  const auto fail = [&](const std::string& what) { throw Error(report.path().string(), "damaged report: " + what); };
  out.name = report.column_texts("step.name");
  out.kind = report.column_texts("step.kind");
  out.term = report.column_texts("step.term");
  out.start = report.column_integers("step.cycles");
  out.compute = report.column_integers("step.compute_cycles");
  out.exchange = report.column_integers("step.exchange_cycles");
  const std::size_t n = out.start.size();
  if (out.name.size() != n || out.kind.size() != n || out.term.size() != n || out.compute.size() != n ||
      out.exchange.size() != n) {
    fail("the step.* columns differ in length");
  }
  for (std::size_t row = 0; row < n; ++row) {
    if (out.start[row] < 0 || out.compute[row] < 0 || out.exchange[row] < 0 ||
        out.compute[row] + out.exchange[row] > out.start[row]) {
      fail("the times of step " + std::to_string(row) + " do not add up");
    }
    // What is moved between IPUs is no exchange of tiles.
    const std::string& kind = out.kind[row];
    if (kind == "compute" || kind == "exchange" || kind == "sync" || out.exchange[row] == 0) continue;
    if (out.collective.empty()) out.collective.resize(n);
    out.collective[row] = out.exchange[row];
    out.exchange[row] = 0;
  }
  for (auto* column : {&out.start, &out.compute, &out.exchange}) add_up(*column);
  if (!out.collective.empty()) add_up(out.collective);
  for (const auto& f : report.index().functions()) {
    if (f.first_step() < 0 || f.steps() < 0 || f.first_step() > static_cast<std::int64_t>(n) - f.steps()) {
      fail("function \"" + f.name() + "\" has steps that do not exist");
    }
    out.functions.push_back({f.first_step(), f.steps()});
  }
  return out;
}

}  // namespace superstep::gui
