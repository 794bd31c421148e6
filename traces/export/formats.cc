// SPDX-License-Identifier: Apache-2.0
#include "traces/export/formats.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "model/error.h"

namespace superstep::exports {

const std::vector<Format>& formats() {
  static const std::vector<Format> kFormats = {
      {"perfetto", "pftrace", "trace for ui.perfetto.dev and its trace processor", write_perfetto},
      {"chrome", "json", "Chrome JSON trace, for chrome://tracing, Perfetto, Tracy and speedscope", write_chrome},
      {"speedscope", "speedscope.json", "profile for speedscope.app", write_speedscope},
      {"collapsed", "folded", "collapsed stacks, for flame graphs", write_collapsed},
      {"csv", "csv", "the report's tables", write_csv},
      {"dot", "dot", "graph of the model by stage and phase, for Graphviz", write_dot},
      {"markdown", "md", "the report as text, with tables", write_markdown},
      {"html", "html", "the report as one page, for browsers", write_html},
      {"svg", "svg", "a view of the viewer, --view, as a vector picture", nullptr},
      {"png", "png", "a view of the viewer, --view, as a picture", nullptr},
      {"onnx", "onnx", "the model with its nodes named by stage and phase, for Netron", nullptr},
      {"poptorch", "py", "the plan's settings for PopTorch, as a Python module", write_poptorch},
      {"popart", "py", "the plan's settings for PopART, as a Python module", write_popart},
      {"tensorflow", "py", "the plan's settings for Keras in Graphcore's TensorFlow 2, as a Python module",
       write_tensorflow},
      {"popxl", "yml", "the plan's settings for Graphcore's PopXL examples", write_popxl},
      {"poprun", "sh", "the command that starts the plan's program with PopRun", write_poprun},
      {"vipu", "sh", "the command that makes the plan's partition with V-IPU", write_vipu}};
  return kFormats;
}

std::string format_names() {
  std::string out;
  for (const Format& f : formats()) out += (out.empty() ? "" : ", ") + std::string(f.name);
  return out;
}

const Format& find_format(const std::string& name) {
  std::vector<std::string> names;
  for (const Format& f : formats()) {
    if (name == f.name) return f;
    names.emplace_back(f.name);
  }
  const std::string hint = nearest_name(name, names).empty() ? "" : name_hint(name, names);
  throw Error("--to", "found \"" + name + "\"" + hint + ", expected one of: " + format_names());
}

void write_file(const std::string& path, const std::function<void(std::ostream&)>& write) {
  if (path == "-") {
    write(std::cout);
    std::cout.flush();
    if (!std::cout) throw Error("standard output", "cannot be written");
    return;
  }
  const std::string temporary = path + ".part";
  try {
    std::ofstream out(temporary, std::ios::binary);
    if (!out) throw Error(path, "cannot be written");
    write(out);
    out.close();
    if (!out) throw Error(path, "cannot be written");
    std::filesystem::rename(temporary, path);
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    throw;
  }
}

}  // namespace superstep::exports
