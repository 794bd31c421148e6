// SPDX-License-Identifier: Apache-2.0
#include "planner/sweep/sweep.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "model/error.h"
#include "model/json_reader.h"
#include "model/parallel.h"

namespace superstep {
namespace {

using nlohmann::json;

constexpr std::size_t kMostItems = 100'000;

// FNV-1a with 128 bits: equal on all computers. Collisions among a million items are practically impossible.
class Hash {
 public:
  Hash& operator<<(const std::string& text) {
    for (const char c : text) add(static_cast<unsigned char>(c));
    add(0);  // separates texts: "ab", "c" is not "a", "bc"
    return *this;
  }
  std::string hex() const {
    char text[40];
    std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(state_ >> 64),
                  static_cast<unsigned long long>(state_));
    return text;
  }

 private:
  __extension__ using Word = unsigned __int128;
  void add(unsigned char byte) { state_ = (state_ ^ byte) * ((Word{1} << 88) + 0x13B); }
  Word state_ = (Word{0x6c62272e07bb0142ULL} << 64) + 0x62b821756295c58dULL;
};

std::string place_of(const Sweep& sweep, const SweepAxis& axis) {
  return sweep.source + "#/grid/" + pointer_token(axis.pointer);
}

// Returns the reference tokens of a JSON pointer (RFC 6901), unescaped.
std::vector<std::string> steps_of(const std::string& pointer) {
  std::vector<std::string> steps;
  for (std::size_t at = 0; at < pointer.size();) {
    const std::size_t end = std::min(pointer.find('/', at + 1), pointer.size());
    std::string step;
    for (std::size_t i = at + 1; i < end; ++i) {
      const bool escaped = pointer[i] == '~' && i + 1 < end && (pointer[i + 1] == '0' || pointer[i + 1] == '1');
      step += escaped ? (pointer[i + 1] == '0' ? '~' : '/') : pointer[i];
      if (escaped) ++i;
    }
    steps.push_back(step);
    at = end;
  }
  return steps;
}

json& element(json& list, const std::string& step, const std::string& where) {
  const bool number = !step.empty() && step.size() < 10 && step.find_first_not_of("0123456789") == std::string::npos;
  if (!number || std::stoul(step) >= list.size())
    throw Error(where, "found \"" + step + "\" for a list of " + std::to_string(list.size()) +
                           " values, expected the index of one of them");
  return list[std::stoul(step)];
}

json read_base(JsonReader& reader, const std::string& name, std::string& job_source) {
  const json& base = reader.raw("base");
  job_source = name;
  if (base.is_object()) return base;
  if (!base.is_string())
    throw Error(reader.at("base"), "found " + describe(base) + ", expected a job, or the path of one");
  const std::filesystem::path path = base.get<std::string>();
  const std::filesystem::path beside = std::filesystem::path(name).parent_path() / path;
  job_source = (path.is_absolute() || std::filesystem::exists(path) ? path : beside).string();
  if (!std::filesystem::exists(job_source))
    throw Error(reader.at("base"), "found " + describe(base) + ", but there is no such file");
  return parse_json_file(job_source);
}

SweepAxis read_axis(const std::string& pointer, const json& values, const std::string& where) {
  if (!pointer.starts_with("/"))
    throw Error(where, "found \"" + pointer + "\", expected a JSON pointer such as \"/plan/replicas\"" +
                           (pointer.empty() ? "" : " (did you mean \"/" + pointer + "\"?)"));
  if (!values.is_array()) throw Error(where, "found " + describe(values) + ", expected a list of values");
  if (values.empty()) throw Error(where, "found an empty list, expected at least one value");
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (std::find(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(i), values[i]) !=
        values.begin() + static_cast<std::ptrdiff_t>(i))
      throw Error(where + "/" + std::to_string(i), "found " + describe(values[i]) + " again, expected other values");
  }
  return {pointer, values.get<std::vector<json>>()};
}

std::vector<SweepAxis> read_grid(JsonReader& reader) {
  const json& grid = reader.raw("grid");
  if (!grid.is_object() || grid.empty())
    throw Error(reader.at("grid"), "found " + (grid.is_object() ? "no field" : describe(grid)) +
                                       ", expected an object with a list of values for each JSON pointer");
  std::vector<SweepAxis> axes;
  std::size_t items = 1;
  for (const auto& [pointer, values] : grid.items()) {
    axes.push_back(read_axis(pointer, values, reader.at("grid") + "/" + pointer_token(pointer)));
    items *= axes.back().values.size();
    if (items > kMostItems)
      throw Error(reader.at("grid"), "makes more than " + std::to_string(kMostItems) +
                                         " items, expected fewer; several sweeps can share the work");
  }
  return axes;
}

// Throws Error for a pointer that no job has a field for. Every item would fail; one message with the pointer's place
// is better.
void check_pointers(const Sweep& sweep) {
  json first = sweep.job(0);
  for (const SweepAxis& axis : sweep.grid) {
    for (const json& value : axis.values) {
      json job = first;
      set_field(job, axis.pointer, value, place_of(sweep, axis));
      try {
        read_job(job, sweep.job_source);
      } catch (const Error& e) {
        const std::string pointer = e.where.substr(std::min(e.where.find('#'), e.where.size() - 1) + 1);
        const bool about_this = (axis.pointer + "/").starts_with(pointer + "/") || pointer.starts_with(axis.pointer);
        const std::string message = e.what();
        if (about_this && message.find("unknown key") != std::string::npos)
          throw Error(place_of(sweep, axis), "names no field of a job: " + without_file(message, sweep.job_source));
      }
    }
  }
}

// Throws Error if two items are the same job, or if no item is a readable job. One readable item is enough: other
// combinations may be invalid, and their rows say why.
void check_items(const Sweep& sweep) {
  std::set<std::string> seen;
  for (std::size_t i = 0; i < sweep.size(); ++i) {
    if (!seen.insert((Hash() << sweep.job(i).dump()).hex()).second)
      throw Error(sweep.source + "#/grid",
                  "item " + std::to_string(i) + " is the same job as another: a pointer leads below one that sets all");
  }
  std::string error;
  for (std::size_t i = 0; i < sweep.size(); ++i) {
    try {
      check_batch(read_job(sweep.job(i), sweep.job_source));
      return;
    } catch (const Error& e) {
      if (error.empty()) error = e.what();
    }
  }
  throw Error("", error + (sweep.job_source == sweep.source ? " (of \"base\" with the first values of the grid)" : ""));
}

std::string text_at(const json& value, const std::string& pointer) {
  const json::json_pointer at(pointer);
  return value.contains(at) ? describe(value.at(at)) : "nothing";
}

void check_same_sweep(const json& kept, const json& asked, const std::string& path) {
  if (kept == asked) return;
  std::string pointer = json::diff(kept, asked).at(0).at("path").get<std::string>();
  if (pointer.ends_with("/-")) pointer.resize(pointer.size() - 2);
  throw Error(path, "holds results of another sweep: found " + text_at(kept, pointer) + " for " + pointer +
                        ", expected " + text_at(asked, pointer) + "; give another file with -o");
}

json question(const Sweep& sweep, const SweepOptions& options) {
  json grid = json::object();
  for (const SweepAxis& axis : sweep.grid) grid[axis.pointer] = axis.values;
  return {{"base", sweep.base}, {"grid", grid}, {"time_limit", options.time_limit}};
}

std::vector<std::size_t> items_to_plan(const std::vector<std::string>& keys, const std::vector<SweepRow>& rows,
                                       const std::string& path) {
  std::vector<bool> done(keys.size(), false);
  for (const SweepRow& row : rows) {
    const auto i = static_cast<std::size_t>(row.item);
    if (i >= keys.size() || keys[i] != row.key)
      throw Error(path, "item " + std::to_string(row.item) +
                            " was planned with other numbers: the machine's, the calibration's or the model's file has "
                            "changed since; give another file with -o");
    done[i] = true;
  }
  std::vector<std::size_t> left;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (!done[i]) left.push_back(i);
  }
  return left;
}

}  // namespace

void set_field(json& job, const std::string& pointer, const json& value, const std::string& where) {
  json* at = &job;
  for (const std::string& step : steps_of(pointer)) {
    if (job.contains("machine") && at == &job["machine"] && at->is_string()) *at = {{"base", *at}};
    if (at->is_null()) *at = json::object();
    if (!at->is_object() && !at->is_array())
      throw Error(where, "leads to \"" + step + "\" in " + describe(*at) + ", expected a field of a job");
    at = at->is_array() ? &element(*at, step, where) : &(*at)[step];
  }
  *at = value;
}

std::size_t Sweep::size() const {
  std::size_t n = 1;
  for (const SweepAxis& axis : grid) n *= axis.values.size();
  return n;
}

std::vector<json> Sweep::values(std::size_t item) const {
  std::vector<json> out(grid.size());
  for (std::size_t a = grid.size(); a-- > 0;) {
    out[a] = grid[a].values[item % grid[a].values.size()];
    item /= grid[a].values.size();
  }
  return out;
}

json Sweep::job(std::size_t item) const {
  json out = base;
  const std::vector<json> chosen = values(item);
  for (std::size_t a = 0; a < grid.size(); ++a) set_field(out, grid[a].pointer, chosen[a], place_of(*this, grid[a]));
  return out;
}

Sweep load_sweep(const std::string& path) { return read_sweep(parse_json_file(path), path); }

Sweep read_sweep(const json& value, const std::string& name) {
  if (!value.is_object()) throw Error(name, "found " + describe(value) + ", expected an object with base and grid");
  JsonReader reader(value, name);
  reader.text_or("description", "");
  reader.text_or("$schema", "");
  Sweep sweep;
  sweep.source = name;
  for (const char* key : {"base", "grid"}) reader.has(key);
  reader.finish();  // first: a misspelt key makes a better message than a missing key
  sweep.base = read_base(reader, name, sweep.job_source);
  sweep.grid = read_grid(reader);
  check_pointers(sweep);
  check_items(sweep);
  return sweep;
}

std::string key_of(const json& job_json, const std::string& source) {
  Hash hash;
  hash << job_json.dump();
  try {
    const Job job = read_job(job_json, source);
    for (const SourcedRow& row : job.machine.rows) hash << row.pointer << row.text;
    for (const Calibration::Row& row : load_calibration(job.machine.calibration).rows) hash << row.name << row.text;
    if (!job.model.onnx.empty()) {
      std::ifstream file(job.model.onnx, std::ios::binary);
      hash << std::string(std::istreambuf_iterator<char>(file), {});
    }
  } catch (const Error&) {  // not a job; the item's row will say why
  }
  return hash.hex();
}

json grid_of(const Sweep& sweep, std::size_t item) {
  const std::vector<json> values = sweep.values(item);
  json grid = json::object();
  for (std::size_t a = 0; a < values.size(); ++a) grid[sweep.grid[a].pointer] = values[a];
  return grid;
}

ManyOptions item_options(double time_limit, int threads) {
  ManyOptions many;
  many.threads = threads;
  many.search.time_limit = time_limit;
  many.search.pareto = many.search.find_fix = false;
  return many;
}

SweepWork begin_sweep(const Sweep& sweep, SweepStore& store, const SweepOptions& options) {
  const json asked = question(sweep, options);
  check_same_sweep(store.question_or(asked), asked, store.path());
  SweepWork work;
  work.keys.resize(sweep.size());
  parallel_for(sweep.size(), options.threads,
               [&](std::size_t i) { work.keys[i] = key_of(sweep.job(i), sweep.job_source); });
  const std::vector<SweepRow> before = store.rows();
  work.left = items_to_plan(work.keys, before, store.path());
  work.done = before.size();
  work.without_plan = static_cast<std::size_t>(std::count_if(
      before.begin(), before.end(), [](const SweepRow& row) { return row.status != PlanStatus::planned; }));
  return work;
}

void run_sweep(const Sweep& sweep, SweepStore& store, const SweepOptions& options) {
  const SweepWork work = begin_sweep(sweep, store, options);
  ManyOptions many = item_options(options.time_limit, options.threads);
  if (options.progress) {
    many.progress = [&](ManyProgress p) {
      p.done += work.done;
      p.without_plan += work.without_plan;
      p.jobs = sweep.size();
      options.progress(p);
    };
  }
  if (options.row && !work.left.empty()) {
    for (const SweepRow& row : store.rows()) options.row(row);
  }
  plan_jobs(
      work.left.size(), [&](std::size_t i) { return read_job(sweep.job(work.left[i]), sweep.job_source); }, many,
      [&](std::size_t i, const PlannedJob& planned, double seconds) {
        const std::size_t item = work.left[i];
        const SweepRow row =
            row_of(static_cast<std::int64_t>(item), work.keys[item], grid_of(sweep, item), planned, seconds);
        store.append(row);
        if (options.row) options.row(row);
      });
}

}  // namespace superstep
