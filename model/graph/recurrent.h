// SPDX-License-Identifier: Apache-2.0
// Recurrent layers as core ops, unrolled over their steps.
#pragma once

#include "model/graph/builder.h"

namespace superstep {

struct LstmWeights {
  TensorId input;      // [4 h, inputs]: gates in the order input, output, forget, cell (ONNX)
  TensorId recurrent;  // [4 h, h]
  TensorId bias;       // [4 h]; may be invalid
};

struct LstmResult {
  TensorId all;   // hidden states after each step, [steps, batch, h]
  TensorId last;  // hidden state after the last step, [batch, h]
  TensorId cell;  // cell state after the last step, [batch, h]
};

// Adds one direction of an LSTM over x [steps, batch, inputs]. `hidden` and `cell` are the initial states [batch, h];
// invalid: zero. `reverse`: steps run from the end, but `all` stays in the order of x.
LstmResult lstm(GraphBuilder& b, TensorId x, const LstmWeights& weights, TensorId hidden, TensorId cell, bool reverse);

}  // namespace superstep
