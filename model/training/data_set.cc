// SPDX-License-Identifier: Apache-2.0
#include "model/training/data_set.h"

#include <cstring>
#include <filesystem>

#include "model/conformance/compare.h"
#include "model/error.h"
#include "model/graph/op_def.h"
#include "model/training/input_ranges.h"

namespace superstep {

namespace {

namespace fs = std::filesystem;

// The first op that reads a tensor, for messages.
std::string reader_of(const Graph& graph, TensorId t) {
  for (const Op& op : graph.ops) {
    for (TensorId input : op.inputs) {
      if (input == t) return "\"" + op.name + "\" (" + std::string(op.def->name) + ")";
    }
  }
  return "no op";
}

// Same kind of numbers: floating values may be rounded, integers must stay what they are.
Array as_type(const Array& from, DType type, const std::string& place) {
  if (from.info.type == type) return from;
  Array to(TensorInfo{type, from.info.shape});
  for (std::int64_t i = 0; i < from.info.elements(); ++i) {
    to.set(i, from.at(i));
    if (!is_float(type) && to.at(i) != from.at(i))
      throw Error(place, "element " + std::to_string(i) + ": found " + std::to_string(from.at(i)) + ", which " +
                             std::string(name_of(type)) + " does not hold");
  }
  return to;
}

fs::path file_of(const fs::path& folder, std::size_t input, std::size_t inputs) {
  const fs::path numbered = folder / ("input_" + std::to_string(input) + ".pb");
  const bool target = input + 1 == inputs && !fs::exists(numbered) && fs::exists(folder / "target.pb");
  return target ? folder / "target.pb" : numbered;
}

void check_shape(const Graph& graph, TensorId t, const Array& found, const TensorInfo& sample, std::size_t samples,
                 const std::string& file) {
  const std::string what = "input \"" + graph.tensors[t].name + "\", read by " + reader_of(graph, t) + ", ";
  if (is_float(found.info.type) != is_float(sample.type))
    throw Error(file,
                what + "found " + to_text(found.info) + ", expected values of " + std::string(name_of(sample.type)));
  if (found.info.shape.size() != sample.shape.size())
    throw Error(file, what + "found " + std::to_string(found.info.shape.size()) + " axes in " + to_text(found.info) +
                          ", expected " + std::to_string(sample.shape.size()));
  for (std::size_t axis = 0; axis < sample.shape.size(); ++axis) {
    const std::int64_t have = found.info.shape[axis], want = sample.shape[axis];
    const bool fits = axis == samples ? have > 0 && have % want == 0 : have == want;
    if (!fits)
      throw Error(file, what + "axis " + std::to_string(axis) + ": found " + std::to_string(have) + " in " +
                            to_text(found.info) + ", expected " + (axis == samples ? "a multiple of " : "") +
                            std::to_string(want));
  }
}

}  // namespace

SampleRange samples_of(const BatchSplit& split, std::int64_t step, std::int64_t instance, std::int64_t replica,
                       std::int64_t micro_batch) {
  SUPERSTEP_CHECK(split.instances > 0 && split.replicas % split.instances == 0, "instances hold equally many replicas");
  const std::int64_t of_all = instance * (split.replicas / split.instances) + replica;
  const std::int64_t number = of_all * split.micro_batches + micro_batch;
  return {step * split.global_batch() + number * split.micro_batch, split.micro_batch};
}

DataSet::Input DataSet::input_of(const Graph& graph, TensorId t) const {
  Input input;
  input.name = graph.tensors[t].name;
  input.sample = graph.info(t);
  input.axis = static_cast<std::size_t>(graph.sample_dimension);
  if (input.sample.shape.size() <= input.axis || input.sample.shape[input.axis] % graph.micro_batch != 0)
    throw Error(graph.name, "input \"" + input.name + "\" is " + to_text(input.sample) + ": axis " +
                                std::to_string(input.axis) + ", expected a multiple of the batch of " +
                                std::to_string(graph.micro_batch));
  input.sample.shape[input.axis] /= graph.micro_batch;
  return input;
}

DataSet DataSet::random(const Graph& graph, std::uint64_t seed, std::int64_t samples) {
  DataSet data;
  data.seed_ = seed;
  data.samples_ = samples;
  for (TensorId t : graph.inputs) {
    Input input = data.input_of(graph, t);
    input.kind = !is_float(input.sample.type)                   ? Kind::integers
                 : input.name.find("mask") != std::string::npos ? Kind::mask
                                                                : Kind::bell;
    if (input.kind == Kind::integers) input.range = integer_range(graph, t);
    data.inputs_.push_back(std::move(input));
  }
  return data;
}

DataSet DataSet::open(const Graph& graph, const std::string& folder) {
  if (!fs::is_directory(folder)) throw Error(folder, "there is no such folder of samples");
  DataSet data;
  std::string first_file;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const std::string file = file_of(folder, i, graph.inputs.size()).string();
    Input input = data.input_of(graph, graph.inputs[i]);
    const Array found = conformance::load_tensor(file);
    check_shape(graph, graph.inputs[i], found, input.sample, input.axis, file);
    const std::int64_t samples = found.info.shape[input.axis] / input.sample.shape[input.axis];
    if (i == 0) first_file = file;
    if (i > 0 && samples != data.samples_)
      throw Error(file, "input \"" + input.name + "\", axis " + std::to_string(input.axis) + ": found " +
                            std::to_string(samples) + " samples, expected " + std::to_string(data.samples_) +
                            " as in " + first_file);
    data.samples_ = samples;
    input.values = std::make_shared<const Array>(as_type(found, input.sample.type, file));
    data.inputs_.push_back(std::move(input));
  }
  return data;
}

// What one sample has before its axis lies apart in an array of several.
void DataSet::copy_sample(const Input& input, std::int64_t sample, Array& to, std::int64_t place) const {
  std::int64_t before = 1;
  for (std::size_t d = 0; d < input.axis; ++d) before *= input.sample.shape[d];
  const std::int64_t run = input.sample.elements() / before, size = size_of(input.sample.type);
  const std::int64_t in_all = to.info.elements() / input.sample.elements();
  const Draw draw(seed_, input.name, DrawFor::inputs);
  for (std::int64_t o = 0; o < before; ++o) {
    const std::int64_t first = (o * in_all + place) * run;
    if (input.kind == Kind::stored) {
      std::memcpy(to.data.data() + first * size, input.values->data.data() + (o * samples_ + sample) * run * size,
                  static_cast<std::size_t>(run * size));
      continue;
    }
    for (std::int64_t i = 0; i < run; ++i) {
      const std::int64_t element = (sample * before + o) * run + i;
      const double value = input.kind == Kind::integers ? static_cast<double>(draw.integer(element, 0, input.range))
                           : input.kind == Kind::mask   ? (draw.integer(element, 0, 8) > 0 ? 1 : 0)
                                                        : draw.bell(element);
      to.set(first + i, value);
    }
  }
}

NamedValues DataSet::room_for(std::int64_t samples) const {
  NamedValues values;
  for (const Input& input : inputs_) {
    TensorInfo info = input.sample;
    info.shape[input.axis] *= samples;
    values[input.name] = Array(info);
  }
  return values;
}

void DataSet::read(SampleRange range, NamedValues& to, std::int64_t place) const {
  for (const Input& input : inputs_) {
    for (std::int64_t k = 0; k < range.count; ++k) {
      const std::int64_t sample = range.first + k;
      copy_sample(input, samples_ > 0 ? sample % samples_ : sample, to.at(input.name), place + k);
    }
  }
}

NamedValues DataSet::read(SampleRange range) const {
  NamedValues values = room_for(range.count);
  read(range, values, 0);
  return values;
}

NamedValues read_batch(const DataSet& data, const BatchSplit& split, std::int64_t step) {
  NamedValues batch = data.room_for(split.global_batch());
  std::int64_t place = 0;
  for (std::int64_t instance = 0; instance < split.instances; ++instance) {
    for (std::int64_t replica = 0; replica < split.replicas / split.instances; ++replica) {
      for (std::int64_t m = 0; m < split.micro_batches; ++m, place += split.micro_batch)
        data.read(samples_of(split, step, instance, replica, m), batch, place);
    }
  }
  return batch;
}

}  // namespace superstep
