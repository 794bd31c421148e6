// SPDX-License-Identifier: Apache-2.0
#include "traces/compare.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <sstream>

#include "model/error.h"
#include "model/quantity_text.h"

namespace superstep {
namespace {

using Reports = std::span<const report::Index* const>;

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) {
    // A number alone says nothing: "25 phases" is one word.
    const bool counts = !words.empty() && words.back().find_first_not_of("0123456789") == std::string::npos;
    if (counts) {
      words.back() += " " + word;
    } else {
      words.push_back(word);
    }
  }
  return words;
}

bool all_different(const std::vector<std::string>& texts) {
  return std::set<std::string>(texts.begin(), texts.end()).size() == texts.size() &&
         std::none_of(texts.begin(), texts.end(), [](const auto& text) { return text.empty(); });
}

// The words of each plan label that some other label lacks: "p=8 r=2" of "t=1 p=8 r=2 m=2 g=192".
std::vector<std::string> differing_words(Reports reports) {
  std::vector<std::vector<std::string>> words;
  for (const auto* index : reports) words.push_back(words_of(index->plan().label()));
  std::vector<std::string> labels(words.size());
  for (std::size_t i = 0; i < words.size(); ++i) {
    for (const auto& word : words[i]) {
      const bool shared = std::all_of(words.begin(), words.end(), [&](const auto& other) {
        return std::find(other.begin(), other.end(), word) != other.end();
      });
      if (!shared) labels[i] += (labels[i].empty() ? "" : " ") + word;
    }
    if (labels[i].ends_with(',')) labels[i].pop_back();  // what followed is shared
  }
  return labels;
}

// True when every report is about the same model on the same machine, so that the plan tells them apart.
bool same_question(Reports reports) {
  return std::all_of(reports.begin(), reports.end(), [&](const auto* index) {
    return index->model_name() == reports[0]->model_name() && index->machine_name() == reports[0]->machine_name();
  });
}

std::vector<std::string> choose_labels(Reports reports, std::span<const std::string> names) {
  std::vector<std::string> labels;
  if (same_question(reports)) labels = differing_words(reports);
  if (all_different(labels) && !labels.empty()) return labels;
  labels.clear();
  for (const auto* index : reports) labels.push_back(index->model_name() + " on " + index->machine_name());
  if (all_different(labels)) return labels;
  labels.assign(names.begin(), names.end());
  if (all_different(labels)) return labels;
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] += " (" + std::to_string(i + 1) + ")";
  return labels;
}

std::string fit_clause(const report::Index& index) {
  if (!index.has_plan()) return "has no plan";
  const std::int64_t margin = margin_bytes(index.plan());
  if (fit_of(index) == Fit::does_not_fit) {
    return margin < 0 ? "does not fit (over by " + kib_text(-margin) + ")" : "does not fit";
  }
  return "fits with " + kib_text(margin) + " per tile to spare";
}

bool fits(const report::Index& index) {
  return index.has_plan() && (fit_of(index) == Fit::fits || fit_of(index) == Fit::tight);
}

// "12.0 % slower than": in throughput, of the first against the second.
std::string speed_clause(double mine, double theirs) {
  const double change = mine / theirs - 1;
  if (!std::isfinite(change)) return "not comparable with";
  if (std::abs(change) < 0.0005) return "as fast as";
  const std::string size = std::abs(change) >= 1 ? figure(change + 1) + " times as fast as" : percent(std::abs(change));
  if (std::abs(change) >= 1) return size;
  return size + (change > 0 ? " faster than" : " slower than");
}

// Seconds of a sample in each world, since steps may differ in them.
std::vector<double> sample_seconds(const report::Index& index) {
  std::vector<double> seconds;
  for (double step : index.plan().step_time_in_worlds_s())
    seconds.push_back(step / static_cast<double>(index.plan().global_batch()));
  return seconds;
}

std::optional<double> known_probability(const report::Index& mine, const report::Index& theirs) {
  const std::vector<double> a = sample_seconds(mine), b = sample_seconds(theirs);
  if (a.empty() || a.size() != b.size()) return std::nullopt;
  return probability_faster(a, b);
}

// " (probability 0.97)", " (a tie: probability 0.71)": that it goes the way the estimates say.
std::string certainty_clause(const report::Index& mine, const report::Index& theirs) {
  const std::optional<double> faster = known_probability(mine, theirs);
  if (!faster) return "";
  const double sure = mine.plan().samples_per_second() >= theirs.plan().samples_per_second() ? *faster : 1 - *faster;
  char text[48];
  std::snprintf(text, sizeof text, sure < kSure ? " (a tie: probability %.2f)" : " (probability %.2f)", sure);
  return text;
}

std::string pair_headline(const report::Index& source, const report::Index& target, const std::string& source_label,
                          const std::string& target_label) {
  if (!source.has_plan() || !target.has_plan()) {
    return target_label + " " + fit_clause(target) + "; " + source_label + " " + fit_clause(source) + ".";
  }
  std::string text = target_label + " is " +
                     speed_clause(target.plan().samples_per_second(), source.plan().samples_per_second()) + " " +
                     source_label + certainty_clause(target, source);
  const bool opposite = fits(source) != fits(target);
  text += (opposite && !fits(target) ? " but " : " and ") + fit_clause(target);
  return text + (opposite ? ", where " : "; ") + source_label + " " + fit_clause(source) + ".";
}

std::string many_headline(Reports reports, const std::vector<std::string>& labels) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    if (fits(*reports[i])) order.push_back(i);
  }
  const std::string count = std::to_string(reports.size());
  if (order.empty()) return "None of the " + count + " fits.";
  const auto speed = [&](std::size_t i) { return reports[i]->plan().samples_per_second(); };
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return speed(a) > speed(b); });
  std::string text = labels[order[0]] + " is the fastest of " + std::to_string(order.size()) + " that fit (of " +
                     count + "): " + figure(speed(order[0])) + " samples/s";
  if (order.size() > 1) {
    text += ", " + speed_clause(speed(order[0]), speed(order[1])) + " " + labels[order[1]] +
            certainty_clause(*reports[order[0]], *reports[order[1]]);
  }
  return text + "; it " + fit_clause(*reports[order[0]]) + ".";
}

using Getter = std::function<double(const report::PlanSummary&)>;
using Formatter = std::function<std::string(double)>;

std::string signed_text(double change, const std::string& text) { return change > 0 ? "+" + text : text; }

KeyFigure key_figure(Reports reports, std::string name, std::string unit, Better better, const Getter& get,
                     const Formatter& format, bool absolute = false) {
  KeyFigure row{std::move(name), std::move(unit), better, {}, {}, {}};
  for (const auto* index : reports) {
    if (index->has_plan()) {
      row.values.emplace_back(get(index->plan()));
      row.texts.push_back(format(*row.values.back()));
    } else {
      row.values.emplace_back();
      row.texts.emplace_back("-");
    }
  }
  for (std::size_t i = 1; i < row.values.size(); ++i) {
    if (!row.values[0] || !row.values[i]) {
      row.differences.emplace_back("-");
      continue;
    }
    const double difference = *row.values[i] - *row.values[0];
    if (difference == 0) {
      row.differences.emplace_back("=");
    } else if (absolute || *row.values[0] == 0) {
      row.differences.push_back(signed_text(difference, format(difference)));
    } else {
      row.differences.push_back(signed_text(difference, percent(difference / *row.values[0])));
    }
  }
  return row;
}

std::vector<KeyFigure> key_figures(Reports reports) {
  using Plan = report::PlanSummary;
  const auto of_kib = [](double bytes) { return kib(static_cast<std::int64_t>(bytes)); };
  const auto of_mib = [](double bytes) { return figure(bytes / 1048576); };
  const auto count = [](double value) { return with_thousands(static_cast<std::int64_t>(value)); };
  const auto share = [](double value) { return figure(value * 100); };
  return {
      key_figure(
          reports, "throughput", "samples/s", Better::larger, [](const Plan& p) { return p.samples_per_second(); },
          figure),
      key_figure(
          reports, "step time", "ms", Better::smaller, [](const Plan& p) { return p.step_time_s() * 1e3; }, figure),
      key_figure(
          reports, "global batch", "samples", Better::neither,
          [](const Plan& p) { return static_cast<double>(p.global_batch()); }, count),
      key_figure(
          reports, "model FLOP utilisation", "%", Better::larger, [](const Plan& p) { return p.flop_utilisation(); },
          share, true),
      key_figure(
          reports, "fullest tile", "KiB", Better::smaller,
          [](const Plan& p) { return static_cast<double>(p.tile_peak_bytes()); }, of_kib, true),
      key_figure(
          reports, "to spare", "KiB", Better::larger,
          [](const Plan& p) { return static_cast<double>(margin_bytes(p)); }, of_kib, true),
      key_figure(
          reports, "Streaming Memory per IPU", "MiB", Better::smaller,
          [](const Plan& p) { return static_cast<double>(p.ddr_bytes_per_ipu()); }, of_mib),
      key_figure(
          reports, "IPUs", "", Better::neither, [](const Plan& p) { return static_cast<double>(p.ipus()); }, count)};
}

// The order of the reports that know a term, earlier reports first: a name new to a report comes
// after the term that stands before it there.
std::vector<ComparedTerm> match_terms(Reports reports) {
  std::vector<ComparedTerm> rows;
  for (std::size_t r = 0; r < reports.size(); ++r) {
    std::size_t next = 0;
    for (const auto& term : reports[r]->waterfall()) {
      auto at = std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.name == term.name(); });
      if (at == rows.end()) {
        at = rows.insert(rows.begin() + static_cast<std::ptrdiff_t>(next),
                         {term.name(), term.kind(), std::vector<std::optional<double>>(reports.size())});
      }
      at->seconds[r] = at->seconds[r].value_or(0) + term.seconds();
      next = static_cast<std::size_t>(at - rows.begin()) + 1;
    }
  }
  return rows;
}

ComparedFit fit_in_bytes(const report::Index& index) {
  ComparedFit out;
  out.fit = fit_of(index);
  if (!index.has_plan()) return out;
  out.tile_peak_bytes = index.plan().tile_peak_bytes();
  out.tile_limit_bytes = index.plan().tile_limit_bytes();
  out.margin_bytes = margin_bytes(index.plan());
  return out;
}

std::vector<ComparedMemory> match_memory(Reports reports) {
  std::vector<ComparedMemory> rows;
  const auto row_of = [&](const std::string& ipu_class, const std::string& category, bool always) -> ComparedMemory& {
    for (auto& row : rows) {
      if (row.ipu_class == ipu_class && row.category == category && row.always_live == always) return row;
    }
    auto last = std::find_if(rows.rbegin(), rows.rend(), [&](const auto& row) { return row.ipu_class == ipu_class; });
    const auto at = last == rows.rend() ? rows.end() : last.base();
    return *rows.insert(at, {ipu_class, category, always, std::vector<std::optional<std::int64_t>>(reports.size())});
  };
  for (std::size_t r = 0; r < reports.size(); ++r) {
    for (const auto& c : reports[r]->ipu_classes()) {
      row_of(c.name(), "", false).bytes_per_tile[r] = c.tile_peak_bytes();
      for (const auto& m : c.memory())
        row_of(c.name(), m.name(), m.always_live()).bytes_per_tile[r] = m.bytes_per_tile();
    }
  }
  return rows;
}

}  // namespace

double probability_faster(std::span<const double> seconds, std::span<const double> than) {
  double sum = 0;
  for (std::size_t i = 0; i < seconds.size(); ++i) sum += seconds[i] < than[i] ? 1 : seconds[i] == than[i] ? 0.5 : 0;
  return sum / static_cast<double>(seconds.size());
}

Comparison compare(std::span<const report::Index* const> reports, std::span<const std::string> names) {
  SUPERSTEP_CHECK(reports.size() >= 2 && names.size() == reports.size(), "a comparison needs two named reports");
  Comparison out;
  out.labels = choose_labels(reports, names);
  out.headline = reports.size() == 2 ? pair_headline(*reports[0], *reports[1], out.labels[0], out.labels[1])
                                     : many_headline(reports, out.labels);
  out.key_figures = key_figures(reports);
  out.waterfall = match_terms(reports);
  for (const auto* index : reports) out.step_time_s.push_back(waterfall_seconds(*index));
  for (const auto* index : reports) out.probability_faster.push_back(known_probability(*index, *reports[0]));
  for (const auto* index : reports) out.fits.push_back(fit_in_bytes(*index));
  out.memory = match_memory(reports);
  return out;
}

}  // namespace superstep
