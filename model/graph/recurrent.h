// SPDX-License-Identifier: Apache-2.0
// Recurrent layers, unrolled over their steps.
#pragma once

#include "model/graph/builder.h"

namespace superstep {

struct LstmWeights {
  TensorId input;      // [4 h, inputs]: gates in the order input, output, forget, cell (ONNX)
  TensorId recurrent;  // [4 h, h]
  TensorId bias;       // [4 h]; may be invalid
};

struct LstmResult {
  TensorId all;   // [steps, batch, h]
  TensorId last;  // hidden state after the last step, [batch, h]
  TensorId cell;  // [batch, h]
};

// One direction over x [steps, batch, inputs]. Initial states [batch, h] may be invalid: zero. In reverse
// the steps are taken from the end; `all` stays in the order of x.
LstmResult lstm(GraphBuilder& b, TensorId x, const LstmWeights& weights, TensorId hidden, TensorId cell, bool reverse);

}  // namespace superstep
