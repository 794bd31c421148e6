// SPDX-License-Identifier: Apache-2.0
// The model graph as Graphviz draws it: units in boxes of their IPU and, within it, of their phase.
#include <algorithm>
#include <map>
#include <ostream>

#include "model/error.h"
#include "model/quantity_text.h"
#include "traces/damaged.h"
#include "traces/export/formats.h"

namespace superstep::exports {
namespace {

std::string dot_text(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') out += '\\';
    out += c == '\n' ? 'n' : c;
  }
  return out + '"';
}

struct Units {
  TextColumn name;
  std::vector<std::int64_t> stage, ipu_class, phase, weights;
};

Units units_of(const ReportFile& report) {
  if (!report.has_column("unit.name") || report.rows("unit.name") == 0) {
    throw Error(report.path().string(), "has no graph of the model; `plan` and `estimate` write it");
  }
  Units out{report.column_texts("unit.name"), report.column_integers("unit.stage"),
            report.column_integers("unit.ipu_class"), report.column_integers("unit.phase"),
            report.column_integers("unit.weight_bytes")};
  check_rows(report, "unit.*", out.name.size(), out.stage, out.ipu_class, out.phase, out.weights);
  return out;
}

// Twelve colours for neighbours, of Graphviz' own scheme.
std::string color(std::int64_t stage) { return "/set312/" + std::to_string(stage % 12 + 1); }

}  // namespace

void write_dot(const ReportPointer& report, const Options&, std::ostream& out) {
  const Units units = units_of(*report);
  const report::Index& index = report->index();
  out << "digraph " << dot_text(index.title())
      << " {\n  label=" << dot_text(index.title() + "\n" + index.plan().label())
      << ";\n  labelloc=t;\n  fontname=\"sans-serif\";\n  node [shape=box, style=\"rounded,filled\", "
         "fontname=\"sans-serif\"];\n"
      << "  edge [fontname=\"sans-serif\", fontsize=9];\n";
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::size_t>> by_stage_and_phase;
  for (std::size_t i = 0; i < units.name.size(); ++i) {
    by_stage_and_phase[{units.stage[i], units.phase[i]}].push_back(i);
  }
  const bool phased = std::any_of(units.phase.begin(), units.phase.end(), [](std::int64_t p) { return p > 0; });
  std::int64_t stage = -1;
  for (const auto& [key, rows] : by_stage_and_phase) {
    if (key.first != stage) {
      if (stage >= 0) out << "  }\n";
      stage = key.first;
      const auto ipu = static_cast<int>(units.ipu_class[rows[0]]);
      const std::string name = ipu >= 0 && ipu < index.ipu_classes_size() ? index.ipu_classes(ipu).name() : "";
      out << "  subgraph cluster_stage" << stage
          << " {\n    label=" << dot_text("stage " + std::to_string(stage) + (name.empty() ? "" : ", " + name))
          << ";\n";
    }
    const std::string indent = phased ? "      " : "    ";
    if (phased) {
      out << "    subgraph cluster_stage" << stage << "_phase" << key.second
          << " {\n      label=" << dot_text("phase " + std::to_string(key.second)) << ";\n";
    }
    for (const std::size_t i : rows) {
      out << indent << 'u' << i
          << " [label=" << dot_text(units.name[i] + "\n" + to_text(Bytes(units.weights[i])) + " of weights")
          << ", fillcolor=" << dot_text(color(stage)) << "];\n";
    }
    if (phased) out << "    }\n";
  }
  out << "  }\n";
  const auto from = report->column_integers("edge.from"), to = report->column_integers("edge.to");
  const auto bytes = report->column_integers("edge.bytes");
  check_rows(*report, "edge.*", from.size(), to, bytes);
  const auto known = [&](std::int64_t unit) {
    return unit >= 0 && unit < static_cast<std::int64_t>(units.name.size());
  };
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (!known(from[i]) || !known(to[i])) damaged(*report, "edges of no unit");
    out << "  u" << from[i] << " -> u" << to[i] << " [label=" << dot_text(to_text(Bytes(bytes[i]))) << "];\n";
  }
  out << "}\n";
}

}  // namespace superstep::exports
