// SPDX-License-Identifier: Apache-2.0
#include "model/graph/tensor.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "model/error.h"
#include "model/numerics/float8.h"
#include "model/numerics/half.h"

namespace superstep {

namespace {

struct TypeRow {
  std::string_view name;
  std::int64_t size;
};
// By DType.
constexpr std::array<TypeRow, kDTypes> kTypeRows = {{{"fp16", 2},
                                                     {"fp32", 4},
                                                     {"fp64", 8},
                                                     {"int8", 1},
                                                     {"int16", 2},
                                                     {"int32", 4},
                                                     {"int64", 8},
                                                     {"uint8", 1},
                                                     {"uint16", 2},
                                                     {"uint32", 4},
                                                     {"uint64", 8},
                                                     {"bool", 1},
                                                     {"float8_e4m3", 1},
                                                     {"float8_e5m2", 1}}};

template <class T>
T read_as(const std::byte* data, std::int64_t index) {
  T value;
  std::memcpy(&value, data + index * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <class T>
void write_as(std::byte* data, std::int64_t index, T value) {
  std::memcpy(data + index * static_cast<std::int64_t>(sizeof(T)), &value, sizeof(T));
}

template <class T>
T to_integer(double value) {
  if (std::isnan(value)) return 0;
  const double low = static_cast<double>(std::numeric_limits<T>::min());
  const double high = static_cast<double>(std::numeric_limits<T>::max());
  if (value <= low) return std::numeric_limits<T>::min();
  if (value >= high) return std::numeric_limits<T>::max();
  return static_cast<T>(std::trunc(value));
}

}  // namespace

std::int64_t size_of(DType type) { return kTypeRows[static_cast<std::size_t>(type)].size; }
std::string_view name_of(DType type) { return kTypeRows[static_cast<std::size_t>(type)].name; }
bool is_float(DType type) { return type <= DType::fp64; }
bool is_integer(DType type) { return type >= DType::int8 && type <= DType::boolean; }

std::int64_t volume(const Shape& shape) {
  std::int64_t product = 1;
  for (std::int64_t extent : shape) product *= extent;
  return product;
}

std::string to_text(const Shape& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

std::string to_text(const TensorInfo& info) { return std::string(name_of(info.type)) + to_text(info.shape); }

RawBytes::RawBytes(const RawBytes& other) : RawBytes(other.size_) { std::copy(other.begin(), other.end(), begin()); }

RawBytes& RawBytes::operator=(RawBytes other) noexcept {
  std::swap(bytes_, other.bytes_);
  std::swap(size_, other.size_);
  return *this;
}

bool operator==(const RawBytes& a, const RawBytes& b) {
  return a.size_ == b.size_ && (a.empty() || std::memcmp(a.data(), b.data(), a.size_) == 0);
}

Array::Array(TensorInfo i) : Array(unfilled(std::move(i))) { std::fill(data.begin(), data.end(), std::byte{}); }

Array Array::unfilled(TensorInfo info) {
  Array array;
  array.data = RawBytes(static_cast<std::size_t>(info.bytes().value));
  array.info = std::move(info);
  return array;
}

Array Array::from(DType type, Shape shape, const std::vector<double>& values) {
  Array array(TensorInfo{type, std::move(shape)});
  SUPERSTEP_CHECK(array.info.elements() == static_cast<std::int64_t>(values.size()), "value count of an array");
  for (std::size_t i = 0; i < values.size(); ++i) array.set(static_cast<std::int64_t>(i), values[i]);
  return array;
}

double Array::at(std::int64_t element) const { return load_element(data.data(), info.type, element); }
void Array::set(std::int64_t element, double value) { store_element(data.data(), info.type, element, value); }

std::vector<double> Array::values() const {
  std::vector<double> result(static_cast<std::size_t>(info.elements()));
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = at(static_cast<std::int64_t>(i));
  return result;
}

double load_element(const std::byte* data, DType type, std::int64_t index) {
  switch (type) {
    case DType::fp16:
      return numerics::to_float(read_as<numerics::Half>(data, index));
    case DType::fp32:
      return read_as<float>(data, index);
    case DType::fp64:
      return read_as<double>(data, index);
    case DType::int8:
      return read_as<std::int8_t>(data, index);
    case DType::int16:
      return read_as<std::int16_t>(data, index);
    case DType::int32:
      return read_as<std::int32_t>(data, index);
    case DType::int64:
      return static_cast<double>(read_as<std::int64_t>(data, index));
    case DType::uint8:
    case DType::boolean:
      return read_as<std::uint8_t>(data, index);
    case DType::uint16:
      return read_as<std::uint16_t>(data, index);
    case DType::uint32:
      return read_as<std::uint32_t>(data, index);
    case DType::uint64:
      return static_cast<double>(read_as<std::uint64_t>(data, index));
    case DType::float8_e4m3:
      return numerics::from_float8(read_as<std::uint8_t>(data, index), numerics::kE4m3);
    case DType::float8_e5m2:
      return numerics::from_float8(read_as<std::uint8_t>(data, index), numerics::kE5m2);
  }
  return 0;
}

void store_element(std::byte* data, DType type, std::int64_t index, double value) {
  switch (type) {
    case DType::fp16:
      return write_as(data, index, numerics::round_to_nearest(value, numerics::Overflow::infinity));
    case DType::fp32:
      return write_as(data, index, static_cast<float>(value));
    case DType::fp64:
      return write_as(data, index, value);
    case DType::int8:
      return write_as(data, index, to_integer<std::int8_t>(value));
    case DType::int16:
      return write_as(data, index, to_integer<std::int16_t>(value));
    case DType::int32:
      return write_as(data, index, to_integer<std::int32_t>(value));
    case DType::int64:
      return write_as(data, index, to_integer<std::int64_t>(value));
    case DType::uint8:
      return write_as(data, index, to_integer<std::uint8_t>(value));
    case DType::uint16:
      return write_as(data, index, to_integer<std::uint16_t>(value));
    case DType::uint32:
      return write_as(data, index, to_integer<std::uint32_t>(value));
    case DType::uint64:
      return write_as(data, index, to_integer<std::uint64_t>(value));
    case DType::boolean:
      return write_as<std::uint8_t>(data, index, value != 0);
    case DType::float8_e4m3:
      return write_as(data, index, numerics::to_float8(value, numerics::kE4m3));
    case DType::float8_e5m2:
      return write_as(data, index, numerics::to_float8(value, numerics::kE5m2));
  }
}

}  // namespace superstep
