// SPDX-License-Identifier: Apache-2.0
// Heads of networks: what they predict, and the labels that training compares with it.
#pragma once

#include <string>

#include "model/graph/builder.h"
#include "model/zoo/families.h"

namespace superstep::zoo {

// What a head scores, [m, rows, classes], and in training the right classes, [m, rows].
struct Prediction {
  TensorId scores, labels;
};

// Returns the labels of a head as an input; none in inference.
TensorId label_input(GraphBuilder& b, GraphUse use, const std::string& name, Shape shape);

// Ends the graph of a language model: in training in the loss of all tokens, in inference in the scores of the token
// after the last one, [m, vocabulary]. The loss is the mean over labels that are not -100.
void end_in_next_token(GraphBuilder& b, const Prediction& all);

}  // namespace superstep::zoo
