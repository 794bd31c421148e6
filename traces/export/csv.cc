// SPDX-License-Identifier: Apache-2.0
// The report's tables as they stand in it: lists of its index, then its columns, those of one prefix side by side.
// Units stand in the headings. A table is written row by row; its columns are held packed.
#include <google/protobuf/descriptor.h>

#include <charconv>
#include <functional>
#include <ostream>

#include "model/error.h"
#include "traces/export/csv_text.h"
#include "traces/export/formats.h"
#include "traces/timeline/packed.h"

namespace superstep::exports {

std::string csv_cell(std::string_view text) {
  if (text.find_first_of(",\"\n\r") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

std::string csv_cell(double value) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, value);
  return {digits, end.ptr};
}

namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

struct CsvTable {
  std::string name;
  std::function<void(std::ostream&)> write;  // heading and rows
};

std::string cell(const Message& m, const FieldDescriptor& f) {
  const auto& of = *m.GetReflection();
  if (f.has_presence() && !of.HasField(m, &f)) return {};  // not known, which is not 0
  switch (f.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return csv_cell(of.GetString(m, &f));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return csv_cell(of.GetDouble(m, &f));
    case FieldDescriptor::CPPTYPE_BOOL:
      return of.GetBool(m, &f) ? "1" : "0";
    default:
      return std::to_string(of.GetInt64(m, &f));
  }
}

std::vector<const FieldDescriptor*> scalars(const google::protobuf::Descriptor& type) {
  std::vector<const FieldDescriptor*> out;
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& f = *type.field(i);
    if (!f.is_repeated() && f.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) out.push_back(&f);
  }
  return out;
}

// Rows of one kind of message, each with cells of its own ahead.
class MessageRows {
 public:
  MessageRows(std::ostream& out, const google::protobuf::Descriptor& type, const std::vector<std::string>& ahead)
      : out_(out), fields_(scalars(type)) {
    for (const std::string& heading : ahead) put(heading);
    for (const FieldDescriptor* f : fields_) put(f->name());
    end();
  }
  void row(const Message& m, const std::vector<std::string>& ahead = {}) {
    for (const std::string& text : ahead) put(csv_cell(text));
    for (const FieldDescriptor* f : fields_) put(cell(m, *f));
    end();
  }

 private:
  std::ostream& out_;
  std::vector<const FieldDescriptor*> fields_;
  bool first_ = true;

  void put(const std::string& text) {
    if (!first_) out_ << ',';
    out_ << text;
    first_ = false;
  }
  void end() {
    out_ << "\r\n";
    first_ = true;
  }
};

template <class List>
void add_list(std::vector<CsvTable>& tables, const char* name, const List& list) {
  if (list.empty()) return;
  tables.push_back({name, [&list](std::ostream& out) {
                      MessageRows rows(out, *list[0].GetDescriptor(), {});
                      for (const auto& m : list) rows.row(m);
                    }});
}

void add_plan_tables(std::vector<CsvTable>& tables, const report::Index& index) {
  if (!index.has_plan()) return;
  const report::PlanSummary& plan = index.plan();
  tables.push_back({"plan", [&plan](std::ostream& out) { MessageRows(out, *plan.GetDescriptor(), {}).row(plan); }});
  if (plan.step_time_in_worlds_s().empty()) return;
  tables.push_back({"worlds", [&plan](std::ostream& out) {
                      out << "world,step_time_s\r\n";
                      for (int i = 0; i < plan.step_time_in_worlds_s_size(); ++i)
                        out << i << ',' << csv_cell(plan.step_time_in_worlds_s(i)) << "\r\n";
                    }});
}

void add_nested(std::vector<CsvTable>& tables, const report::Index& index) {
  if (!index.ipu_classes().empty()) {
    tables.push_back({"memory", [&index](std::ostream& out) {
                        MessageRows rows(out, *report::MemoryCategory::descriptor(), {"ipu"});
                        for (const auto& ipu : index.ipu_classes()) {
                          for (const auto& m : ipu.memory()) rows.row(m, {ipu.name()});
                        }
                      }});
  }
  if (!index.explanations().empty()) {
    tables.push_back({"explanation_terms", [&index](std::ostream& out) {
                        MessageRows rows(out, *report::Explanation::Term::descriptor(), {"explanation"});
                        for (const auto& e : index.explanations()) {
                          for (const auto& t : e.terms()) rows.row(t, {e.name()});
                        }
                      }});
  }
}

void program_rows(MessageRows& rows, const report::ProgramNode& node, int depth) {
  rows.row(node, {std::to_string(depth)});
  for (const auto& child : node.children()) program_rows(rows, child, depth + 1);
}

// "step.live_bytes" of unit bytes: "live_bytes"; "candidate.step_time" of unit seconds: "step_time_seconds".
std::string heading(const report::ColumnEntry& column) {
  const std::string name = column.name().substr(column.name().find('.') + 1);
  const std::string& unit = column.unit();
  if (unit == "index" || unit == "text" || unit.empty() || name.ends_with(unit)) return name;
  std::string tail = unit;
  for (char& c : tail) c = c == ' ' || c == ',' ? '_' : c;
  return name + '_' + tail;
}

std::function<std::string(std::size_t)> reader(const ReportFile& report, const report::ColumnEntry& column) {
  if (column.unit() == "text") {
    return [texts = trace::read_texts(report, column.name())](std::size_t row) { return csv_cell(texts[row]); };
  }
  try {
    return [integers = trace::read_integers(report, column.name())](std::size_t row) {
      return std::to_string(integers[row]);
    };
  } catch (const Error&) {  // reals, or it is damaged, which reading it once more says
    return [reals = report.column_reals(column.name())](std::size_t row) { return csv_cell(reals[row]); };
  }
}

using Columns = std::vector<const report::ColumnEntry*>;

void write_columns(const ReportFile& report, const Columns& columns, std::ostream& out) {
  std::vector<std::function<std::string(std::size_t)>> cells;
  for (const report::ColumnEntry* c : columns) {
    if (c->rows() != columns[0]->rows())
      throw Error(report.path().string(),
                  "damaged report: \"" + c->name() + "\" and \"" + columns[0]->name() + "\" differ in length");
    cells.push_back(reader(report, *c));
    out << (c == columns[0] ? "" : ",") << heading(*c);
  }
  out << "\r\n";
  for (std::size_t row = 0; row < columns[0]->rows(); ++row) {
    for (std::size_t c = 0; c < cells.size(); ++c) out << (c == 0 ? "" : ",") << cells[c](row);
    out << "\r\n";
  }
}

void add_columns(std::vector<CsvTable>& tables, const ReportFile& report) {
  std::vector<std::pair<std::string, Columns>> groups;
  for (const report::ColumnEntry& c : report.index().columns()) {
    const std::string name = c.name().substr(0, c.name().find('.'));
    auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == name; });
    if (group == groups.end()) group = groups.insert(groups.end(), {name, {}});
    group->second.push_back(&c);
  }
  for (auto& [name, columns] : groups) {
    tables.push_back({name, [&report, columns = columns](std::ostream& out) { write_columns(report, columns, out); }});
  }
}

std::vector<CsvTable> tables_of(const ReportFile& report) {
  const report::Index& index = report.index();
  std::vector<CsvTable> out;
  add_plan_tables(out, index);
  add_list(out, "facts", index.facts());
  add_list(out, "waterfall", index.waterfall());
  add_list(out, "ipus", index.ipu_classes());
  add_nested(out, index);
  add_list(out, "runners_up", index.runners_up());
  add_list(out, "pareto", index.pareto());
  add_list(out, "efficiency", index.efficiency());
  add_list(out, "helpful_changes", index.helpful_changes());
  add_list(out, "machine_numbers", index.machine_numbers());
  add_list(out, "explanations", index.explanations());
  add_list(out, "functions", index.functions());
  if (index.program().cycles() > 0) {
    out.push_back({"program", [&index](std::ostream& to) {
                     MessageRows rows(to, *report::ProgramNode::descriptor(), {"depth"});
                     program_rows(rows, index.program(), 0);
                   }});
  }
  add_columns(out, report);
  return out;
}

}  // namespace

void write_csv(const ReportPointer& report, const Options& options, std::ostream& out) {
  const std::vector<CsvTable> tables = tables_of(*report);
  std::vector<std::string> names;
  bool any = false;
  for (const CsvTable& table : tables) {
    names.push_back(table.name);
    if (!options.table.empty() && options.table != table.name) continue;
    // Several tables: each after a line with its name, as the viewer writes them.
    if (options.table.empty()) out << (any ? "\r\n" : "") << "# " << table.name << "\r\n";
    table.write(out);
    any = true;
  }
  if (!any && options.table.empty()) throw Error(report->path().string(), "has no tables");
  if (!any) {
    throw Error("--table", "there is no table \"" + options.table + "\" in " + report->path().string() +
                               name_hint(options.table, names));
  }
}

}  // namespace superstep::exports
