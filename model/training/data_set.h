// SPDX-License-Identifier: Apache-2.0
// Samples, and which part of a step reads which.
//
// Samples are numbered from 0. Step s of a global batch of B reads samples s B, s B + 1, ...; after the last sample
// comes the first again, also within a batch. Within a batch samples belong contiguously to instances (programs on
// host machines, as PopDist starts them), then to the replicas of an instance, then to their micro-batches. So what a
// step reads depends on the global batch alone.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model/graph/graph.h"
#include "model/training/draw.h"
#include "model/training/named_values.h"

namespace superstep {

struct SampleRange {
  std::int64_t first = 0, count = 0;
  friend bool operator==(const SampleRange&, const SampleRange&) = default;
};

struct BatchSplit {
  std::int64_t instances = 1;      // divides replicas; instance i holds replicas i r / instances and on
  std::int64_t replicas = 1;       // of all instances
  std::int64_t micro_batches = 1;  // of one replica: its gradient accumulation
  std::int64_t micro_batch = 1;    // samples
  std::int64_t global_batch() const { return replicas * micro_batches * micro_batch; }
};

// `replica` counts within the instance.
SampleRange samples_of(const BatchSplit& split, std::int64_t step, std::int64_t instance, std::int64_t replica,
                       std::int64_t micro_batch);

class DataSet {
 public:
  // Inputs of `graph` drawn by the seed, the names of the inputs and the number of the sample: integers within what
  // the model picks from (input_ranges.h), floating inputs called a mask 1 or, one in eight, 0, others with mean 0
  // and variance 1. `samples` 0: every sample differs.
  static DataSet random(const Graph& graph, std::uint64_t seed, std::int64_t samples);

  // input_0.pb, input_1.pb, ... for the inputs of `graph` in order; the last may be target.pb instead. The graph's
  // sample dimension holds the samples. Floating values are rounded to the model's type; integers keep their value.
  // Throws Error naming the file, input, op that reads it, axis, what was found and what was expected.
  static DataSet open(const Graph& graph, const std::string& folder);

  std::int64_t samples() const { return samples_; }  // 0: without end

  // The inputs for these samples, by name.
  NamedValues read(SampleRange range) const;
  // The same into arrays for more samples, from number `place` on.
  void read(SampleRange range, NamedValues& to, std::int64_t place) const;
  NamedValues room_for(std::int64_t samples) const;

 private:
  enum class Kind : std::uint8_t { stored, integers, mask, bell };
  struct Input {
    std::string name;
    std::size_t axis = 0;  // that the samples lie along
    TensorInfo sample;     // of one
    Kind kind = Kind::stored;
    std::int64_t range = 0;               // of integers
    std::shared_ptr<const Array> values;  // stored
  };
  Input input_of(const Graph& graph, TensorId t) const;
  void copy_sample(const Input& input, std::int64_t sample, Array& to, std::int64_t place) const;

  std::vector<Input> inputs_;
  std::int64_t samples_ = 0;
  std::uint64_t seed_ = 0;
};

// A global batch: every instance reads its own samples, and the parts are put together in order.
NamedValues read_batch(const DataSet& data, const BatchSplit& split, std::int64_t step);

}  // namespace superstep
