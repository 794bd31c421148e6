// SPDX-License-Identifier: Apache-2.0
// What networks of images share: how these come from the host.
#pragma once

#include <string>
#include <vector>

#include "model/graph/builder.h"
#include "model/json_reader.h"
#include "model/zoo/network_specs.h"

namespace superstep::zoo {

inline constexpr std::int64_t kMostImage = 4096;

const std::vector<std::string>& pixel_names();  // by Pixels
Pixels read_pixels(JsonReader& r, Pixels fallback);

// The input "images", [micro_batch, 3, size, size] of `type`; 8-bit ones are normalised.
TensorId images(GraphBuilder& b, std::int64_t micro_batch, std::int64_t size, Pixels pixels, DType type);

}  // namespace superstep::zoo
