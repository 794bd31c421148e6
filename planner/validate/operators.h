// SPDX-License-Identifier: Apache-2.0
// What is known of single operators, and what the cost model says of them: vertices, exchanges, products. Ours is
// computed by what costs a plan, never by a formula of its own. docs/explanation/operators.md says how a file of facts
// looks.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "model/lower/tile_plan.h"

namespace superstep {

// One call of the matrix unit: channels, not blocks.
struct AmpWork {
  std::int64_t groups = 1, rows = 1, contracted = 1, columns = 1;
  DType operands = DType::fp16, partials = DType::fp16;
};

// Adding partial sums on one tile, before the calibrated factor.
struct ReductionWork {
  std::int64_t parts = 2, elements = 1;
};

// An exchange superstep in which the busiest tile receives so much.
struct ExchangeWork {
  Bytes plain, paired;      // paired: the same as the other tile of its pair
  std::int64_t pieces = 0;  // that they come in
  bool rearranges = false;  // a re-layout
};

enum class ProductPhase : std::uint8_t { operands, partials };

// An exchange superstep of a product that is split in a given way.
struct ProductExchangeWork {
  ProductShape shape;
  ProductSplit split;
  ProductPhase phase = ProductPhase::operands;
};

// A product on one IPU, with its exchanges, under the plan that is best within the bound on temporary memory.
struct ProductWork {
  ProductShape shape;
  double proportion = 0.6;  // available_memory_proportion
};

// A forward convolution with a square window, the same way; half operands and partials.
struct ConvolutionWork {
  std::int64_t samples = 1, size = 1, inputs = 1, outputs = 1, window = 1, stride = 1;
  double proportion = 0.6;
};

using OperatorWork =
    std::variant<AmpWork, ReductionWork, ExchangeWork, ProductExchangeWork, ProductWork, ConvolutionWork>;

enum class OperatorUnit : std::uint8_t { cycles, teraflops, share_of_peak };  // the last of the FP16.16 peak

struct OperatorFact {
  std::string id, group;
  Machine machine;
  std::string calibration;  // of data/calibration
  OperatorWork work;
  OperatorUnit unit = OperatorUnit::cycles;
  double stated = 0;
  std::string basis;     // "formula", "measured", "derived" from what was measured, "prototype": for regression only
  double tolerance = 0;  // on OperatorResult::error, either way
  std::string source;
  std::string note;  // may be empty
  std::string gap;   // why ours is known to lie outside the tolerance; empty: it is expected within
};

struct OperatorResult {
  OperatorFact fact;
  double ours = 0;   // in the fact's unit
  double error = 0;  // ours / stated - 1; of shares of the peak ours - stated
  bool within() const;
};

// Reads files, and the .json files of folders in the order of their names. Throws Error with file and JSON pointer.
std::vector<OperatorFact> load_operator_facts(const std::vector<std::string>& paths);
std::string operators_folder();  // the repository's own: data/operators

OperatorResult evaluate(const OperatorFact& fact);

std::string work_text(const OperatorWork& work);  // "64 x 64 x 64 fp16.16"
std::string unit_text(OperatorUnit unit);
std::string value_text(double value, OperatorUnit unit);  // "7,663", "44.2", "49.0 %"
std::string error_text(const OperatorResult& result);     // "+1.4 %", "-3.0 points"
std::string tolerance_text(const OperatorFact& fact);     // "exact", "5 %", "10 points"
std::string verdict_text(const OperatorResult& result);   // "within", "outside", "outside, known"

}  // namespace superstep
