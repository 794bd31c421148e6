// SPDX-License-Identifier: Apache-2.0
#include "planner/sweep/sweep_table.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "model/quantity_text.h"

namespace superstep {
namespace {

using nlohmann::json;

std::string plain(const json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

// Returns short names of the axes: the shortest end of each pointer that no other axis shares.
std::vector<std::string> short_names(const std::vector<SweepAxis>& grid) {
  std::vector<std::string> names;
  for (const SweepAxis& axis : grid) {
    std::size_t from = axis.pointer.rfind('/');
    const auto shared = [&] {
      return std::count_if(grid.begin(), grid.end(), [&](const SweepAxis& other) {
               return other.pointer.ends_with(axis.pointer.substr(from));
             }) > 1;
    };
    while (from > 0 && shared()) from = axis.pointer.rfind('/', from - 1);
    names.push_back(axis.pointer.substr(from + 1));
  }
  return names;
}

const SweepRow* fastest(const std::vector<SweepRow>& rows) {
  const SweepRow* best = nullptr;
  for (const SweepRow& row : rows) {
    if (row.status == PlanStatus::planned && (!best || row.samples_per_second > best->samples_per_second)) best = &row;
  }
  return best;
}

std::vector<std::string> headings_of(const Sweep& sweep) {
  std::vector<std::string> headings = {"item"};
  for (std::string& name : short_names(sweep.grid)) headings.push_back(std::move(name));
  for (const char* name : {"samples/s", "plan", "fullest tile", "DDR per IPU", "fits"}) headings.push_back(name);
  return headings;
}

std::vector<std::string> cells_of(const Sweep& sweep, const SweepRow& row) {
  std::vector<std::string> cells = {std::to_string(row.item)};
  for (const SweepAxis& axis : sweep.grid) cells.push_back(plain(row.grid.at(axis.pointer)));
  if (row.status != PlanStatus::planned) {
    for (const std::string& cell :
         {std::string(), row.reason, std::string(), std::string(), std::string(name_of(row.status))})
      cells.push_back(cell);
    return cells;
  }
  for (std::string cell :
       {figure(row.samples_per_second), row.label, kib_text(row.tile_peak), to_text(Bytes(row.ddr_per_ipu)),
        row.fits + (row.gap > 0 ? ", gap " + percent(row.gap) : "")})
    cells.push_back(std::move(cell));
  return cells;
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

std::string csv_line(const std::vector<std::string>& cells) {
  std::string line;
  for (const std::string& cell : cells) line += (line.empty() ? "" : ",") + csv_cell(cell);
  return line + "\r\n";
}

std::string markdown_line(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) {
    line += " ";
    for (const char c : cell) line += c == '|' ? "\\|" : std::string(1, c);
    line += cell.empty() ? "|" : " |";
  }
  return line + "\n";
}

}  // namespace

TextTable table_of(const Sweep& sweep, const std::vector<SweepRow>& rows) {
  TextTable table;
  table.headings = headings_of(sweep);
  const int columns = static_cast<int>(table.headings.size());
  table.left_columns = {columns - 4, columns - 1};
  const SweepRow* best = fastest(rows);
  for (const SweepRow& row : rows) {
    std::vector<std::string> cells = cells_of(sweep, row);
    // A reason can be long. The cell stays empty to keep the table narrow; notes below the table give the reason.
    if (row.status != PlanStatus::planned) cells[cells.size() - 4] = "";
    table.add(std::move(cells), row.status != PlanStatus::planned ? Ink::bad : &row == best ? Ink::good : Ink::plain);
  }
  return table;
}

std::string to_csv(const Sweep& sweep, const std::vector<SweepRow>& rows) {
  std::vector<std::string> headings = {"item"};
  for (const SweepAxis& axis : sweep.grid) headings.push_back(axis.pointer);
  for (const char* name :
       {"status", "reason", "label", "fits", "global_batch", "samples_per_second", "step_time_s", "step_time_low_s",
        "step_time_high_s", "tile_peak_bytes", "ddr_bytes_per_ipu", "gap", "plan"})
    headings.push_back(name);
  std::string out = csv_line(headings);
  for (const SweepRow& row : rows) {
    std::vector<std::string> cells = {std::to_string(row.item)};
    for (const SweepAxis& axis : sweep.grid) cells.push_back(plain(row.grid.at(axis.pointer)));
    cells.push_back(name_of(row.status));
    cells.push_back(row.reason);
    if (row.status == PlanStatus::planned) {
      for (const json& value : {json(row.label), json(row.fits), json(row.global_batch), json(row.samples_per_second),
                                json(row.step_seconds), json(row.step_band.low), json(row.step_band.high),
                                json(row.tile_peak), json(row.ddr_per_ipu), json(row.gap), row.plan})
        cells.push_back(plain(value));
    }
    cells.resize(headings.size());
    out += csv_line(cells);
  }
  return out;
}

std::string to_markdown(const Sweep& sweep, const std::vector<SweepRow>& rows) {
  const std::vector<std::string> headings = headings_of(sweep);
  std::string out = markdown_line(headings) + "|";
  for (const std::string& name : headings) out += name == "plan" || name == "fits" ? "---|" : "---:|";
  out += "\n";
  for (const SweepRow& row : rows) out += markdown_line(cells_of(sweep, row));
  return out;
}

json item_json(const SweepRow& row) {
  json j = {{"item", row.item}, {"grid", row.grid}, {"status", name_of(row.status)}};
  if (row.status != PlanStatus::planned) {
    j["reason"] = row.reason;
    return j;
  }
  j.update({{"plan", row.plan},
            {"label", row.label},
            {"fits", row.fits},
            {"global_batch", row.global_batch},
            {"samples_per_second", row.samples_per_second},
            {"step_time_s", row.step_seconds},
            {"step_time_band_s", {row.step_band.low, row.step_band.high}},
            {"tile_peak_bytes", row.tile_peak},
            {"ddr_bytes_per_ipu", row.ddr_per_ipu},
            {"gap", row.gap}});
  return j;
}

json to_json(const std::vector<SweepRow>& rows) {
  json j = {{"items", json::array()}};
  for (PlanStatus s : {PlanStatus::planned, PlanStatus::infeasible, PlanStatus::failed}) {
    j[name_of(s)] = std::count_if(rows.begin(), rows.end(), [&](const SweepRow& row) { return row.status == s; });
  }
  for (const SweepRow& row : rows) j["items"].push_back(item_json(row));
  if (const SweepRow* best = fastest(rows)) j["best"] = best->item;
  return j;
}

}  // namespace superstep
