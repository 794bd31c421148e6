// SPDX-License-Identifier: Apache-2.0
// A small BERT-like encoder as ONNX: in the words of operator set 11 (normalisation taken apart, axes
// as attributes, shapes computed), or of 17.
#pragma once

#include "tests/onnx/onnx_file_maker.h"

namespace superstep::test {

struct EncoderSpec {
  std::int64_t opset = 17;
  std::int64_t batch = 2;
  std::int64_t sequence = 5;
  std::int64_t hidden = 8;
  std::int64_t heads = 2;
  std::int64_t vocabulary = 11;
  std::int64_t layers = 2;
  bool loss = false;  // adds labels and a loss; operator set 12 and later
};

// Inputs ids [batch, sequence] int64 and mask [batch, sequence]; output logits [batch, sequence, vocabulary].
FileMaker encoder_file(const EncoderSpec& spec);

}  // namespace superstep::test
