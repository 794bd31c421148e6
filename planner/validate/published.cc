// SPDX-License-Identifier: Apache-2.0
#include "planner/validate/published.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "model/data_folder.h"
#include "model/error.h"
#include "model/json_reader.h"
#include "model/quantity_text.h"

namespace superstep {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

// True for a rate per second, such as "packs/s (512-token packed rows)".
bool is_rate(const std::string& unit) {
  const std::size_t at = unit.find("/s");
  return at != std::string::npos && at > 0 && (at + 2 == unit.size() || unit[at + 2] == ' ');
}

// Reads a metric by a word in its name: "samples_per_second", "training throughput (single step)"; "step_time_s",
// "optimizer step time".
Metric read_metric(JsonReader& r) {
  const std::string text = r.text("metric");
  const auto says = [&](const char* word) { return text.find(word) != std::string::npos; };
  if (says("throughput") || says("per_second")) return Metric::throughput;
  if (says("step")) return Metric::step_time;
  r.fail("metric", "found " + describe(r.raw("metric")) + ", expected samples_per_second or step_time_s");
}

Measured read_measured(JsonReader r) {
  Measured m;
  m.metric = read_metric(r);
  m.name = r.text("metric");
  m.value = r.number("value", 1e-12, 1e15);
  m.unit = r.text("unit");
  m.source = r.text("source");
  if (m.source.empty()) r.fail("source", "found an empty text, expected where it is published");
  if (m.metric == Metric::step_time)
    m.unit_seconds = parse_seconds("1 " + m.unit, r.at("unit")).value;
  else if (!is_rate(m.unit))
    r.fail("unit", "found " + describe(r.raw("unit")) + ", expected samples of the job per second, such as packs/s");
  r.finish();
  return m;
}

std::vector<std::string> read_texts(JsonReader& r, const char* key) {
  std::vector<std::string> texts;
  const json* list = r.raw_or_null(key);
  if (list == nullptr) return texts;
  if (!list->is_array()) r.fail(key, "found " + describe(*list) + ", expected a list of texts");
  for (const json& text : *list) {
    if (!text.is_string()) r.fail(key, "found " + describe(text) + " in the list, expected texts");
    texts.push_back(text.get<std::string>());
  }
  return texts;
}

// Reads a job, which is part of the entry or a file beside the entries, and what it was run with.
void read_given_job(JsonReader& r, PublishedJob& point, const std::string& file) {
  point.framework = r.text_or("framework", "");
  point.release = r.text_or("release", "");
  point.assumed = read_texts(r, "assumed");
  const json& job = r.raw("job");
  if (job.is_object()) {
    point.job = job;
    point.job_file = file;
    point.job_place = r.at("job").substr(file.size());
  } else if (job.is_string()) {
    point.job_file = (fs::path(file).parent_path() / job.get<std::string>()).lexically_normal().string();
    if (!fs::exists(point.job_file))
      r.fail("job", "found " + describe(job) + ", expected a job or the path of its file from here; there is no " +
                        point.job_file);
    point.job = parse_json_file(point.job_file);
  } else {
    r.fail("job", "found " + describe(job) + ", expected a job or the path of its file from here");
  }
}

PublishedPoint read_point(JsonReader r, const std::string& file) {
  PublishedPoint p;
  p.id = r.text("id");
  p.use = r.text("use");
  p.family = r.text("family");
  p.run = r.text_or("run", p.id);
  for (const char* key : {"id", "use", "family"}) {
    if (r.text(key).empty()) r.fail(key, "found an empty text, expected a name");
  }
  read_given_job(r, p, file);
  p.measured = read_measured(r.object("measured"));
  r.finish();
  return p;
}

MemoryCase read_memory_case(JsonReader r, const std::string& file) {
  MemoryCase c;
  c.id = r.text("id");
  c.ran = r.name("outcome", std::vector<std::string>{"ran", "out_of_memory"}) == "ran";
  c.source = r.text("source");
  for (const char* key : {"id", "source"}) {
    if (r.text(key).empty()) r.fail(key, "found an empty text, expected a name");
  }
  c.miss = r.text_or("miss", "");
  read_given_job(r, c, file);
  r.finish();
  return c;
}

LeftOut read_left_out(JsonReader r) {
  LeftOut l{r.text("id"), r.text("use"), r.text("model"), r.text("machine"), r.text("why"), {}};
  if (r.has("stated")) {
    JsonReader s = r.object("stated");
    l.stated = {s.text("metric"), s.text("unit"), s.text("source"), s.number("value", 1e-12, 1e15)};
    s.finish();
  }
  r.finish();
  return l;
}

// Reads all files and checks points across files.
class PointReader {
 public:
  void read(const std::string& file) {
    const json contents = parse_json_file(file);
    JsonReader r(contents, file);
    r.text_or("description", "");
    for (const JsonReader& item : r.objects("points")) {
      all_.points.push_back(read_point(item, file));
      check_id(all_.points.back().id, item.here());
      check_run(all_.points.size() - 1, item.here());
    }
    if (r.has("memory_cases")) {
      for (const JsonReader& item : r.objects("memory_cases")) {
        all_.memory_cases.push_back(read_memory_case(item, file));
        check_id(all_.memory_cases.back().id, item.here());
      }
    }
    if (r.has("left_out")) {
      for (const JsonReader& item : r.objects("left_out")) {
        all_.left_out.push_back(read_left_out(item));
        check_id(all_.left_out.back().id, item.here());
      }
    }
    r.finish();
  }
  PublishedPoints take() { return std::move(all_); }

 private:
  void check_id(const std::string& id, const std::string& where) {
    const auto [first, is_new] = ids_.try_emplace(id, where);
    if (!is_new)
      throw Error(where + "/id", "found \"" + id + "\" as in " + first->second + ", expected a name of its own");
  }

  void check_run(std::size_t index, const std::string& where) {
    const PublishedPoint& p = all_.points[index];
    const PublishedPoint& first = all_.points[runs_.try_emplace(p.run, index).first->second];
    const auto expect = [&](const char* key, const auto& mine, const auto& its) {
      if (mine == its) return;
      throw Error(where + "/" + key, "found another one than point \"" + first.id + "\" of the same run \"" + p.run +
                                         "\" has, expected the same");
    };
    expect("use", p.use, first.use);
    expect("family", p.family, first.family);
    expect("job", p.job, first.job);
  }

  PublishedPoints all_;
  std::map<std::string, std::string> ids_;
  std::map<std::string, std::size_t> runs_;  // index of the first point, by run
};

}  // namespace

std::string PublishedJob::placed(std::string message) const {
  const std::size_t end = job_file.size();
  if (job_place.empty() || message.compare(0, end, job_file) != 0) return message;
  if (message.compare(end, 1, "#") == 0) message.erase(end, 1);
  return message.insert(end, job_place);
}

double Measured::samples_per_second(std::int64_t global_batch) const {
  return metric == Metric::step_time ? static_cast<double>(global_batch) / (value * unit_seconds) : value;
}

double Measured::in_unit(double samples_per_second, std::int64_t global_batch) const {
  if (metric != Metric::step_time) return samples_per_second;
  return static_cast<double>(global_batch) / samples_per_second / unit_seconds;
}

std::vector<std::string> json_files(const std::vector<std::string>& paths, const std::string& expected) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    if (!fs::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    std::vector<std::string> found;
    for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
      if (entry.path().extension() == ".json") found.push_back(entry.path().string());
    }
    if (found.empty()) throw Error(path, "found no .json file in this folder, expected " + expected);
    std::sort(found.begin(), found.end());
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

PublishedPoints load_published(const std::vector<std::string>& paths) {
  PointReader reading;
  for (const std::string& file : json_files(paths, "published points")) reading.read(file);
  return reading.take();
}

std::string published_folder() { return data_folder() + "/published"; }

namespace {

// The numbers of a network of the zoo, without those that change no graph.
nlohmann::json question_of(const ZooSpec& spec) {
  nlohmann::json numbers = numbers_of(spec);
  for (const char* key : {"sequences_per_pack", "dropout", "attention_dropout"}) numbers.erase(key);
  numbers["name"] = name_of(spec);
  return numbers;
}

}  // namespace

double best_published_rate(const Job& job) {
  if (!job.model.zoo) return 0;
  double best = 0;
  for (const PublishedPoint& point : load_published({published_folder()}).points) {
    const Job other = read_job(point.job, point.job_file);
    if (!other.model.zoo || question_of(*other.model.zoo) != question_of(*job.model.zoo)) continue;
    if (other.machine.name != job.machine.name || other.machine.ipus != job.machine.ipus) continue;
    if (other.task != job.task || other.global_batch != job.global_batch) continue;
    best = std::max(best, point.measured.samples_per_second(job.global_batch));
  }
  return best;
}

}  // namespace superstep
