// SPDX-License-Identifier: Apache-2.0
// speedscope's own format: one evented profile a track, in cycles, so that sums are exact.
#include <nlohmann/json.hpp>
#include <ostream>
#include <unordered_map>

#include "traces/export/walk.h"

namespace superstep::exports {

using Json = nlohmann::ordered_json;

void write_speedscope(const ReportPointer& report, const Options& options, std::ostream& out) {
  const Trace trace = make_trace(report, options);
  std::unordered_map<std::string, std::size_t> numbers;
  std::vector<std::string> names;
  const auto frame = [&](const std::string& name) {
    const auto [at, is_new] = numbers.emplace(name, names.size());
    if (is_new) names.push_back(name);
    return at->second;
  };
  const Json head = {{"$schema", "https://www.speedscope.app/file-format-schema.json"},
                     {"exporter", report->index().created_by()},
                     {"name", trace.title},
                     {"activeProfileIndex", 0}};
  std::string text = head.dump();
  text.pop_back();
  out << text << ",\"profiles\":[";
  bool first_profile = true;
  for (const Track& track : trace.tracks) {
    if (track.lane < 0) continue;
    const Json profile = {{"type", "evented"},
                          {"name", track.process + (track.name == "program" ? "" : ", " + track.name)},
                          {"unit", "none"},
                          {"startValue", 0},
                          {"endValue", trace.timeline.cycles}};
    text = profile.dump();
    text.pop_back();
    out << (first_profile ? "\n" : ",\n") << text << ",\"events\":[";
    first_profile = false;
    bool first = true;
    const auto put = [&](const char* type, const std::string& name, std::int64_t at) {
      out << (first ? "\n" : ",\n") << Json{{"type", type}, {"frame", frame(name)}, {"at", at}}.dump();
      first = false;
    };
    trace.visit(
        track, options, [&](const TraceSlice& s) { put("O", s.name, s.from); },
        [&](const TraceSlice& s) { put("C", s.name, s.to); });
    out << "\n]}";
  }
  Json frames = Json::array();
  for (const std::string& name : names) frames.push_back({{"name", name}});
  out << "\n],\"shared\":" << Json{{"frames", frames}}.dump() << "}\n";
}

}  // namespace superstep::exports
