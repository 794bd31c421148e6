// SPDX-License-Identifier: Apache-2.0
// Element types, shapes, and arrays of values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/units.h"

namespace superstep {

enum class DType : std::uint8_t { fp16, fp32, fp64, int8, int32, int64, uint8, boolean };

std::int64_t size_of(DType type);      // bytes per element
std::string_view name_of(DType type);  // "fp16", ...
bool is_float(DType type);

using Shape = std::vector<std::int64_t>;  // extents, outermost first; empty: a scalar

std::int64_t volume(const Shape& shape);  // product of extents; 1 for a scalar
std::string to_text(const Shape& shape);  // "[2, 512, 1024]"

// What is known of a tensor without its values.
struct TensorInfo {
  DType type = DType::fp32;
  Shape shape;
  std::int64_t elements() const { return volume(shape); }
  Bytes bytes() const { return Bytes(elements() * size_of(type)); }
  friend bool operator==(const TensorInfo&, const TensorInfo&) = default;
};

// Dense values in row-major order. fp16 is held as its 16 bits; boolean as one byte, 0 or 1.
struct Array {
  TensorInfo info;
  std::vector<std::byte> data;  // info.bytes() long

  Array() = default;
  explicit Array(TensorInfo i) : info(std::move(i)), data(static_cast<std::size_t>(info.bytes().value)) {}
  static Array from(DType type, Shape shape, const std::vector<double>& values);

  double at(std::int64_t element) const;         // any type, widened
  void set(std::int64_t element, double value);  // rounded to the type, to nearest even
  std::vector<double> values() const;
  friend bool operator==(const Array&, const Array&) = default;
};

// Element access by type, shared by Array and by the views that kernels get.
double load_element(const std::byte* data, DType type, std::int64_t index);
void store_element(std::byte* data, DType type, std::int64_t index, double value);

}  // namespace superstep
