// SPDX-License-Identifier: Apache-2.0
// Element types, shapes, and arrays of values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/units.h"

namespace superstep {

// The 8-bit floats are types that values are stored in: they are cast to another type before anything is computed.
enum class DType : std::uint8_t {
  fp16,
  fp32,
  fp64,
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  boolean,
  float8_e4m3,
  float8_e5m2,
};
inline constexpr std::size_t kDTypes = 14;

std::int64_t size_of(DType type);      // bytes per element
std::string_view name_of(DType type);  // "fp16", ...
bool is_float(DType type);             // fp16, fp32 or fp64
bool is_integer(DType type);           // also boolean

using Shape = std::vector<std::int64_t>;  // extents, outermost first; empty: a scalar

std::int64_t volume(const Shape& shape);  // product of extents; 1 for a scalar
std::string to_text(const Shape& shape);  // "[2, 512, 1024]"

// Type and shape of a tensor.
struct TensorInfo {
  DType type = DType::fp32;
  Shape shape;
  std::int64_t elements() const { return volume(shape); }
  Bytes bytes() const { return Bytes(elements() * size_of(type)); }
  friend bool operator==(const TensorInfo&, const TensorInfo&) = default;
};
std::string to_text(const TensorInfo& info);  // "fp16[2, 512, 1024]"

// A buffer of bytes whose size is fixed at construction. Contents are not initialised, or copied from another buffer.
class RawBytes {
 public:
  RawBytes() = default;
  explicit RawBytes(std::size_t size) : bytes_(std::make_unique_for_overwrite<std::byte[]>(size)), size_(size) {}
  RawBytes(const RawBytes& other);
  RawBytes(RawBytes&& other) noexcept : bytes_(std::move(other.bytes_)), size_(std::exchange(other.size_, 0)) {}
  RawBytes& operator=(RawBytes other) noexcept;

  std::byte* data() { return bytes_.get(); }
  const std::byte* data() const { return bytes_.get(); }
  std::byte* begin() { return data(); }
  const std::byte* begin() const { return data(); }
  std::byte* end() { return data() + size_; }
  const std::byte* end() const { return data() + size_; }
  std::byte& operator[](std::size_t i) { return bytes_[i]; }
  std::byte operator[](std::size_t i) const { return bytes_[i]; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  friend bool operator==(const RawBytes& a, const RawBytes& b);

 private:
  std::unique_ptr<std::byte[]> bytes_;
  std::size_t size_ = 0;
};

// Dense values in row-major order. fp16 is held as its 16 bits; boolean as one byte, 0 or 1.
struct Array {
  TensorInfo info;
  RawBytes data;  // of size info.bytes()

  Array() = default;
  explicit Array(TensorInfo i);            // filled with zeros
  static Array unfilled(TensorInfo info);  // not initialised: the caller writes all values
  static Array from(DType type, Shape shape, const std::vector<double>& values);

  double at(std::int64_t element) const;         // the value of any type as a double
  void set(std::int64_t element, double value);  // rounds to the element type, to nearest even
  std::vector<double> values() const;
  friend bool operator==(const Array&, const Array&) = default;
};

// Read and write one element by type. Shared by Array and the views that kernels get.
double load_element(const std::byte* data, DType type, std::int64_t index);
void store_element(std::byte* data, DType type, std::int64_t index, double value);

}  // namespace superstep
