// SPDX-License-Identifier: Apache-2.0
#include "model/conformance/compare.h"

#include <cmath>
#include <fstream>

#include "model/error.h"
#include "model/onnx/tensors.h"

namespace superstep::conformance {

namespace {

bool near(double found, double expected, Tolerance tolerance) {
  if (std::isnan(found) && std::isnan(expected)) return true;
  if (!std::isfinite(expected)) return found == expected;
  return std::abs(found - expected) <= tolerance.absolute + tolerance.relative * std::abs(expected);
}

std::string text(double value) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.9g", value);
  return digits;
}

}  // namespace

Array load_tensor(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw Error(path.string(), "no such file, expected a tensor");
  onnx_file::TensorProto tensor;
  if (!tensor.ParseFromIstream(&stream)) throw Error(path.string(), "not a tensor, or damaged");
  const std::int32_t type = tensor.data_type();
  if (!onnx_import::our_type(type)) {
    throw Error(path.string(), "values of type " + onnx_import::type_name(type));
  }
  const onnx_import::StoredTensor stored = onnx_import::read_tensor(tensor, path, true);
  if (!stored.data) throw Error(path.string(), "a tensor without values");
  return *stored.data;
}

std::string difference(const Array& found, const Array& expected, Tolerance tolerance) {
  if (found.info != expected.info) return "is " + to_text(found.info) + ", expected " + to_text(expected.info);
  const bool floating = is_float(expected.info.type);
  std::int64_t different = 0, first = 0;
  for (std::int64_t i = 0; i < expected.info.elements(); ++i) {
    const double x = found.at(i), y = expected.at(i);
    if (floating ? near(x, y, tolerance) : x == y || (x != x && y != y)) continue;
    if (different++ == 0) first = i;
  }
  if (different == 0) return "";
  return "element " + std::to_string(first) + " is " + text(found.at(first)) + ", expected " +
         text(expected.at(first)) + "; " + std::to_string(different) + " of " +
         std::to_string(expected.info.elements()) + " differ";
}

}  // namespace superstep::conformance
