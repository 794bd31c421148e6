// SPDX-License-Identifier: Apache-2.0
#include "planner/validate/against.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "model/data_folder.h"
#include "model/error.h"
#include "model/json_reader.h"
#include "model/machine/load_machine.h"
#include "planner/report/evaluated.h"
#include "planner/search/search.h"
#include "traces/text_table.h"

namespace superstep {
namespace {

using nlohmann::json;
using namespace nlohmann::literals;
namespace fs = std::filesystem;

constexpr double kHour = 3600;
constexpr double kKilowattHour = 3.6e6;  // joules

// Returns an error's message without the file and without the list of valid names.
std::string without_place(const Error& e) {
  std::string message = e.what();
  if (!e.where.empty() && message.starts_with(e.where + ": ")) message.erase(0, e.where.size() + 2);
  return message.substr(0, message.find(" (expected one of"));
}

class ComparisonReader {
 public:
  ComparisonReader(std::string file, const PublishedPoints& published, const AgainstOptions& options)
      : file_(std::move(file)), published_(published), options_(options) {}

  std::vector<SystemComparison> read() {
    const json contents = parse_json_file(file_);
    JsonReader r(contents, file_);
    r.text_or("description", "");
    baseline_ = load_machine(r.text("baseline"));
    std::vector<JsonReader> items = r.objects("comparisons");
    count_ = static_cast<double>(std::max<std::size_t>(1, items.size()));
    std::vector<SystemComparison> all;
    for (JsonReader& item : items) {
      all.push_back(read_comparison(item));
      done_ += 1;
    }
    r.finish();
    return all;
  }

 private:
  SystemComparison read_comparison(JsonReader& r) {
    SystemComparison c{r.text("title"), r.text("item"), r.text_or("note", ""), {}, {}};
    if (options_.progress) options_.progress(done_ / count_, c.title);
    for (JsonReader& b : r.objects("baselines")) c.baselines.push_back(read_baseline(b));
    for (JsonReader& o : r.objects("ours")) c.ours.push_back(read_ours(o));
    r.finish();
    compare(c);
    return c;
  }

  ComparedSystem read_baseline(JsonReader& r) const {
    const std::string id = r.text("id");
    const std::int64_t systems = r.integer_or("systems", 1, 1000, 1);
    r.finish();
    const auto found = std::find_if(baseline_.baselines.begin(), baseline_.baselines.end(),
                                    [&](const Baseline& b) { return b.id == id; });
    if (found == baseline_.baselines.end())
      r.fail("id", "found \"" + id + "\", expected a baseline of " + baseline_.name);
    ComparedSystem s;
    const double of_a_system = static_cast<double>(found->accelerators) / static_cast<double>(baseline_.ipus);
    s.basis = systems > 1 ? Basis::scaled : Basis::published;
    s.id = id;
    s.source = found->source;
    s.system = of_a_system < 1 ? std::to_string(found->accelerators) + " of " + std::to_string(baseline_.ipus) +
                                     " in " + baseline_.name
                               : std::to_string(std::llround(of_a_system) * systems) + " x " + baseline_.name;
    s.power = Watts(baseline_.rated_power.value * of_a_system * static_cast<double>(systems));
    const double rate = found->unit == "h" ? 1 / (found->value * kHour) : found->value;
    s.items_per_second = rate * static_cast<double>(systems);
    return s;
  }

  ComparedSystem read_ours(JsonReader& r) {
    if (r.has("point")) return read_point(r);
    if (r.has("announced")) return read_announced(r);
    return read_modelled(r);
  }

  ComparedSystem read_point(JsonReader& r) const {
    const std::string id = r.text("point");
    const double samples = r.number_or("samples", 1e-12, 1e15, 1);
    r.finish();
    const auto p = std::find_if(published_.points.begin(), published_.points.end(),
                                [&](const PublishedPoint& q) { return q.id == id; });
    if (p == published_.points.end()) r.fail("point", "found \"" + id + "\", expected a point of data/published");
    if (p->measured.metric != Metric::throughput) r.fail("point", "found \"" + id + "\", a time, expected a rate");
    const Machine machine = load_machine(p->job.at("machine"), p->job_file);
    ComparedSystem s;
    s.system = machine.name;
    s.id = id;
    s.source = p->measured.source;
    s.power = machine.rated_power;
    s.items_per_second = p->measured.value / samples;
    return s;
  }

  ComparedSystem read_announced(JsonReader& r) const {
    const std::string id = r.text("announced");
    const Machine machine = load_machine(r.text("machine"));
    r.finish();
    const auto l = std::find_if(published_.left_out.begin(), published_.left_out.end(),
                                [&](const LeftOut& q) { return q.id == id && q.stated; });
    if (l == published_.left_out.end())
      r.fail("announced", "found \"" + id + "\", expected something stated in data/published that is left out there");
    ComparedSystem s;
    s.basis = Basis::announced;
    s.system = machine.name;
    s.id = id;
    s.source = l->stated->metric + ", " + l->stated->unit + ": " + l->stated->source;
    s.power = machine.rated_power;
    if (l->stated->unit == "x")
      s.speed = l->stated->value;
    else
      s.items_per_second = l->stated->unit == "h" ? 1 / (l->stated->value * kHour) : l->stated->value;
    return s;
  }

  // Plans each of the given jobs. An item takes `samples` samples of each job, one job after another.
  ComparedSystem read_modelled(JsonReader& r) {
    ComparedSystem s;
    s.basis = Basis::modelled;
    double seconds = 0, low = 0, high = 0;
    for (JsonReader& j : r.objects("jobs")) {
      const json& job = j.raw("job");
      const double samples = j.number_or("samples", 1e-12, 1e15, 1);
      j.finish();
      if (!s.failure.empty()) continue;
      try {
        const Evaluated e = plan(job, s);
        const Band band = band_of(e.worlds);
        const auto batch = static_cast<double>(e.plan.global_batch());
        seconds += samples * e.step_seconds / batch;
        low += samples * band.low / batch;
        high += samples * band.high / batch;
      } catch (const Error& e) {
        s.failure = without_place(e);
      }
    }
    r.finish();
    if (!s.failure.empty() || seconds <= 0) return s;
    s.items_per_second = 1 / seconds;
    s.band = Band{1 / high, 1 / low};
    return s;
  }

  // Plans a job, given as JSON or as a path relative to the comparison's file. Adds the job and its plan to `s`.
  Evaluated plan(const json& given, ComparedSystem& s) {
    const bool is_file = given.is_string();
    const std::string path =
        is_file ? (fs::path(file_).parent_path() / given.get<std::string>()).lexically_normal().string() : file_;
    const json contents = is_file ? parse_json_file(path) : given;
    if (contents.is_object() && contents.contains("machine") && contents["machine"].is_string()) {
      s.system = contents["machine"];
      s.power = load_machine(s.system).rated_power;
    }
    const std::string name = is_file ? fs::path(path).stem().string() : contents.value("/model/zoo"_json_pointer, "");
    s.id += (s.id.empty() ? "" : " + ") + name;
    const Job job = read_job(contents, path);
    check_batch(job);
    s.system = job.machine.name;
    s.power = job.machine.rated_power;
    const CostModel model(job.machine, load_calibration(job.machine.calibration));
    Tables tables(job, model);
    SearchOptions options;
    options.top = 1;
    options.pareto = options.find_fix = false;
    options.threads = options_.threads;
    const SearchResult found = search(tables, options);
    if (found.best.empty()) throw Error(path, "no plan fits");
    Evaluated e = evaluate_in_full(tables, found.best.front().plan);
    draw_worlds(tables, e);
    s.source += (s.source.empty() ? "" : " + ") + label(e.plan);
    for (const std::string& what : e.not_validated()) {
      if (std::find(s.not_validated.begin(), s.not_validated.end(), what) == s.not_validated.end())
        s.not_validated.push_back(what);
    }
    return e;
  }

  // Fills speed and thrift, relative to the first baseline. An announced ratio counts as a ratio of speeds.
  void compare(SystemComparison& c) const {
    const ComparedSystem* first = c.baselines.empty() ? nullptr : &c.baselines.front();
    const double power =
        first != nullptr ? first->power.value : baseline_.rated_power.value / static_cast<double>(baseline_.ipus);
    for (std::vector<ComparedSystem>* list : {&c.baselines, &c.ours}) {
      for (ComparedSystem& s : *list) {
        if (first != nullptr && s.items_per_second) s.speed = *s.items_per_second / *first->items_per_second;
        if (s.speed) s.thrift = *s.speed * power / s.power.value;
      }
    }
  }

  std::string file_;
  const PublishedPoints& published_;
  const AgainstOptions& options_;
  Machine baseline_;
  double done_ = 0, count_ = 1;
};

json or_null(const std::optional<double>& v) { return v ? json(*v) : json(); }

json to_json(const ComparedSystem& s) {
  json j = {{"system", s.system},
            {"basis", name_of(s.basis)},
            {"id", s.id},
            {"source", s.source},
            {"rated_power_w", s.power.value},
            {"items_per_second", or_null(s.items_per_second)},
            {"joules_per_item", or_null(s.joules_per_item())},
            {"speed", or_null(s.speed)},
            {"items_per_joule_ratio", or_null(s.thrift)}};
  if (s.band) j["band"] = {s.band->low, s.band->high};
  if (!s.failure.empty()) j["failure"] = s.failure;
  if (s.basis == Basis::modelled) j["not_validated"] = s.not_validated;
  return j;
}

}  // namespace

const char* name_of(Basis basis) {
  switch (basis) {
    case Basis::published:
      return "published";
    case Basis::announced:
      return "announced";
    case Basis::scaled:
      return "published, times systems";
    case Basis::modelled:
      return "modelled";
  }
  return "";
}

std::optional<double> ComparedSystem::joules_per_item() const {
  if (!items_per_second) return std::nullopt;
  return power.value / *items_per_second;
}

std::vector<SystemComparison> read_comparisons(const std::string& file, const PublishedPoints& published,
                                               const AgainstOptions& options) {
  return ComparisonReader(file, published, options).read();
}

std::vector<SystemComparison> compare_with(const std::string& baseline, const PublishedPoints& published,
                                           const AgainstOptions& options) {
  const std::string folder = data_folder() + "/comparisons";
  const std::string file = folder + "/" + baseline + ".json";
  std::vector<std::string> names;
  for (const std::string& other : json_files({folder}, "comparisons")) names.push_back(fs::path(other).stem().string());
  if (std::find(names.begin(), names.end(), baseline) == names.end())
    throw Error("--against", "found \"" + baseline + "\"" + name_hint(baseline, names));
  return read_comparisons(file, published, options);
}

json to_json(const std::vector<SystemComparison>& comparisons) {
  json all = json::array();
  for (const SystemComparison& c : comparisons) {
    json j = {
        {"title", c.title}, {"item", c.item}, {"note", c.note}, {"baselines", json::array()}, {"ours", json::array()}};
    for (const ComparedSystem& s : c.baselines) j["baselines"].push_back(to_json(s));
    for (const ComparedSystem& s : c.ours) j["ours"].push_back(to_json(s));
    all.push_back(std::move(j));
  }
  return {{"comparisons", all}};
}

std::string rate_text(const ComparedSystem& s, const std::string& item) {
  if (!s.items_per_second) return "n/a";
  if (item == "run") return figure(1 / *s.items_per_second / kHour) + " h";
  return figure(*s.items_per_second) + " " + item + "s/s";
}

std::string energy_text(const ComparedSystem& s) {
  const std::optional<double> joules = s.joules_per_item();
  if (!joules) return "n/a";
  return *joules >= kKilowattHour ? figure(*joules / kKilowattHour) + " kWh" : figure(*joules) + " J";
}

}  // namespace superstep
