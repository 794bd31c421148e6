// SPDX-License-Identifier: Apache-2.0
// Known figures of single operators (vertices, exchanges, products) beside the cost model's figures. The cost model's
// figures come from the code that costs a plan, never from a separate formula. docs/explanation/operators.md describes
// the file format.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "model/lower/tile_plan.h"

namespace superstep {

// One call of the matrix unit. Extents are in channels, not in blocks of channels.
struct AmpWork {
  std::int64_t groups = 1, rows = 1, contracted = 1, columns = 1;
  DType operands = DType::fp16, partials = DType::fp16;
};

// Addition of partial sums on one tile, before the calibrated factor.
struct ReductionWork {
  std::int64_t parts = 2, elements = 1;
};

// An exchange superstep. Bytes are received by the busiest tile.
struct ExchangeWork {
  Bytes plain, paired;      // paired: bytes that the other tile of the pair receives too
  std::int64_t pieces = 0;  // pieces in which the bytes arrive
  bool rearranges = false;  // the exchange is a re-layout
};

enum class ProductPhase : std::uint8_t { operands, partials };

// An exchange superstep of a product with a given split over tiles.
struct ProductExchangeWork {
  ProductShape shape;
  ProductSplit split;
  ProductPhase phase = ProductPhase::operands;
};

// A product on one IPU with its exchanges, under the best plan within the bound on temporary memory.
struct ProductWork {
  ProductShape shape;
  double proportion = 0.6;  // available_memory_proportion
};

// A forward convolution with a square window on one IPU, planned like ProductWork; fp16 operands and partials.
struct ConvolutionWork {
  std::int64_t samples = 1, size = 1, inputs = 1, outputs = 1, window = 1, stride = 1;
  double proportion = 0.6;
};

using OperatorWork =
    std::variant<AmpWork, ReductionWork, ExchangeWork, ProductExchangeWork, ProductWork, ConvolutionWork>;

enum class OperatorUnit : std::uint8_t { cycles, teraflops, share_of_peak };  // share_of_peak: of the FP16.16 peak

struct OperatorFact {
  std::string id, group;
  Machine machine;
  std::string calibration;  // name of a file in data/calibration
  OperatorWork work;
  OperatorUnit unit = OperatorUnit::cycles;
  double stated = 0;     // in `unit`
  std::string basis;     // "formula", "measured", "derived" from measurements, "prototype": for regression only
  double tolerance = 0;  // bound on the absolute value of OperatorResult::error
  std::string source;
  std::string note;  // may be empty
  std::string gap;   // why the model's figure lies outside the tolerance; empty: expected within
};

struct OperatorResult {
  OperatorFact fact;
  double ours = 0;      // the model's figure, in the fact's unit
  double error = 0;     // ours / stated - 1; ours - stated for shares of the peak
  bool within() const;  // |error| <= tolerance
};

// Reads files, and the .json files of folders in the order of their names. Throws Error with file and JSON pointer.
std::vector<OperatorFact> load_operator_facts(const std::vector<std::string>& paths);
std::string operators_folder();  // the repository's own folder: data/operators

// Returns the cost model's figure for a fact's work.
OperatorResult evaluate(const OperatorFact& fact);

std::string work_text(const OperatorWork& work);  // "64 x 64 x 64 fp16.16"
std::string unit_text(OperatorUnit unit);
std::string value_text(double value, OperatorUnit unit);  // "7,663", "44.2", "49.0 %"
std::string error_text(const OperatorResult& result);     // "+1.4 %", "-3.0 points"
std::string tolerance_text(const OperatorFact& fact);     // "exact", "5 %", "10 points"
std::string verdict_text(const OperatorResult& result);   // "within", "outside", "outside, known"

}  // namespace superstep
