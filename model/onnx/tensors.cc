// SPDX-License-Identifier: Apache-2.0
#include "model/onnx/tensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <string_view>

#include "model/error.h"

namespace superstep::onnx_import {

namespace {

namespace fs = std::filesystem;
using onnx_file::TensorProto;

constexpr std::array<std::string_view, 24> kTypeNames = {
    "undefined", "float32",      "uint8",          "int8",       "uint16",         "int16",  "int32",     "int64",
    "string",    "bool",         "float16",        "float64",    "uint32",         "uint64", "complex64", "complex128",
    "bfloat16",  "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "uint4",  "int4",      "float4e2m1"};

// No tensor of any model has more elements than this.
constexpr std::int64_t kMostElements = std::int64_t{1} << 42;

std::int64_t file_size_of(std::int32_t file_type) { return file_type == kBfloat16 ? 2 : size_of(*our_type(file_type)); }

std::string quoted(const std::string& name) { return '"' + name + '"'; }

std::string count_text(std::int64_t found, const char* unit, std::int64_t expected) {
  return "found " + std::to_string(found) + " " + unit + ", expected " + std::to_string(expected);
}

// Bytes as they lie in files, little endian; the host is, too.
static_assert(std::endian::native == std::endian::little);

Array from_bytes(const TensorInfo& info, std::int32_t file_type, const std::byte* bytes) {
  if (file_type == kBfloat16) {
    Array array(info);
    const auto n = static_cast<std::size_t>(info.elements());
    for (std::size_t i = 0; i < n; ++i) {  // the upper half of a float
      std::memcpy(array.data.data() + 4 * i + 2, bytes + 2 * i, 2);
    }
    return array;
  }
  Array array = Array::unfilled(info);
  if (!array.data.empty()) std::memcpy(array.data.data(), bytes, array.data.size());
  if (file_type == kBool) {
    for (std::byte& b : array.data) b = std::byte{b != std::byte{0}};
  }
  return array;
}

template <class Values>
Array from_values(const TensorInfo& info, const Values& values, const std::string& what) {
  if (values.size() != info.elements()) {
    throw Error("", what + ": " + count_text(values.size(), "values", info.elements()));
  }
  Array array(info);
  for (int i = 0; i < values.size(); ++i) {
    if (info.type == DType::int64 || info.type == DType::uint64) {  // beyond 2^53, too
      const auto exact = static_cast<std::int64_t>(values.Get(i));
      std::memcpy(array.data.data() + 8 * static_cast<std::size_t>(i), &exact, 8);
    } else {
      array.set(i, static_cast<double>(values.Get(i)));
    }
  }
  return array;
}

// Floats of 16 and 8 bits lie as their bits in int32_data.
Array from_bits(const TensorInfo& info, std::int32_t file_type, const TensorProto& tensor, const std::string& what) {
  if (tensor.int32_data_size() != info.elements()) {
    throw Error("", what + ": " + count_text(tensor.int32_data_size(), "values", info.elements()));
  }
  const auto size = static_cast<std::size_t>(file_size_of(file_type));
  std::vector<std::byte> bytes(size * static_cast<std::size_t>(info.elements()));
  for (int i = 0; i < tensor.int32_data_size(); ++i) {
    const auto bits = static_cast<std::uint16_t>(tensor.int32_data(i));
    std::memcpy(bytes.data() + size * static_cast<std::size_t>(i), &bits, size);
  }
  return from_bytes(info, file_type, bytes.data());
}

Array from_typed_field(const TensorInfo& info, const TensorProto& tensor, const std::string& what) {
  switch (tensor.data_type()) {
    case kFloat:
      return from_values(info, tensor.float_data(), what);
    case kDouble:
      return from_values(info, tensor.double_data(), what);
    case kInt64:
      return from_values(info, tensor.int64_data(), what);
    case kUint32:
    case kUint64:
      return from_values(info, tensor.uint64_data(), what);
    case kFloat16:
    case kBfloat16:
    case kFloat8E4m3:
    case kFloat8E5m2:
      return from_bits(info, tensor.data_type(), tensor, what);
    default:
      return from_values(info, tensor.int32_data(), what);
  }
}

bool no_values(const TensorProto& t) {
  return t.raw_data().empty() && t.float_data().empty() && t.double_data().empty() && t.int64_data().empty() &&
         t.int32_data().empty() && t.uint64_data().empty() && t.string_data().empty();
}

struct ExternalPlace {
  std::string location;
  std::int64_t offset = 0;
  std::int64_t length = -1;  // -1: as long as the tensor
};

std::int64_t parse_number(const std::string& text, const std::string& what) {
  std::int64_t value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) {
    throw Error("", what + ": external data with offset or length " + quoted(text) + ", expected a number of bytes");
  }
  return value;
}

ExternalPlace external_place(const TensorProto& tensor, const std::string& what) {
  ExternalPlace place;
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") place.location = entry.value();
    if (entry.key() == "offset") place.offset = parse_number(entry.value(), what);
    if (entry.key() == "length") place.length = parse_number(entry.value(), what);
  }
  if (place.location.empty()) throw Error("", what + ": external data without a location");
  return place;
}

// A model must not make us read files elsewhere: not by name, and not through a symbolic link. Where the model itself
// is a link into another folder, its data may be links into that folder, too (the cache of the Hugging Face hub).
fs::path file_inside(const fs::path& model, const std::string& location, const std::string& what) {
  const fs::path folder = model.parent_path();
  const fs::path relative(location);
  const bool climbs = std::find(relative.begin(), relative.end(), "..") != relative.end();
  const std::string refusal = what + ": external data " + quoted(location) + " lies outside of the model's folder";
  if (relative.is_absolute() || climbs) throw Error("", refusal);
  std::error_code error;
  const fs::path base = fs::canonical(folder.empty() ? fs::path(".") : folder, error);
  if (error) throw Error("", what + ": cannot open the model's folder");
  const fs::path target = fs::canonical(base / relative, error);
  if (error) throw Error("", what + ": external data " + quoted(location) + " not found");
  const auto inside = [&](const fs::path& of) {
    return std::mismatch(of.begin(), of.end(), target.begin(), target.end()).first == of.end();
  };
  if (!inside(base) && target.parent_path() != fs::canonical(model, error).parent_path()) throw Error("", refusal);
  if (!fs::is_regular_file(target)) throw Error("", what + ": external data " + quoted(location) + " is not a file");
  return target;
}

Array read_external_data(const TensorInfo& info, const TensorProto& tensor, const fs::path& model,
                         const std::string& what) {
  const ExternalPlace place = external_place(tensor, what);
  const fs::path path = file_inside(model, place.location, what);
  const std::int64_t bytes = info.elements() * file_size_of(tensor.data_type());
  if (place.length >= 0 && place.length != bytes) {
    throw Error("", what + ": external data: " + count_text(place.length, "bytes", bytes));
  }
  const auto size = static_cast<std::int64_t>(fs::file_size(path));
  if (place.offset > size || size - place.offset < bytes) {
    throw Error("", what + ": external data " + quoted(place.location) + " ends too early: " +
                        count_text(std::max<std::int64_t>(size - place.offset, 0), "bytes", bytes));
  }
  std::ifstream stream(path, std::ios::binary);
  stream.seekg(place.offset);
  std::vector<std::byte> buffer(static_cast<std::size_t>(bytes));
  stream.read(reinterpret_cast<char*>(buffer.data()), bytes);
  if (!stream) throw Error("", what + ": cannot read external data " + quoted(place.location));
  return from_bytes(info, tensor.data_type(), buffer.data());
}

// Throws Error unless the bytes that are in the file are as many as the shape says.
void check_size(const TensorInfo& info, const TensorProto& tensor, const std::string& what) {
  const std::int64_t bytes = info.elements() * file_size_of(tensor.data_type());
  const auto found = static_cast<std::int64_t>(tensor.raw_data().size());
  if (found > 0 && found != bytes) throw Error("", what + ": " + count_text(found, "bytes of values", bytes));
}

Array read_inside(const TensorInfo& info, const TensorProto& tensor, const std::string& what) {
  if (tensor.raw_data().empty()) return from_typed_field(info, tensor, what);
  return from_bytes(info, tensor.data_type(), reinterpret_cast<const std::byte*>(tensor.raw_data().data()));
}

}  // namespace

double largest_number(DType type) {
  return type == DType::fp16   ? 65504.0
         : type == DType::fp32 ? static_cast<double>(std::numeric_limits<float>::max())
                               : std::numeric_limits<double>::max();
}

std::optional<DType> our_type(std::int32_t file_type) {
  switch (file_type) {
    case kFloat:
    case kBfloat16:
      return DType::fp32;
    case kFloat16:
      return DType::fp16;
    case kDouble:
      return DType::fp64;
    case kUint8:
      return DType::uint8;
    case kUint16:
      return DType::uint16;
    case kUint32:
      return DType::uint32;
    case kUint64:
      return DType::uint64;
    case kInt8:
      return DType::int8;
    case kInt16:
      return DType::int16;
    case kInt32:
      return DType::int32;
    case kInt64:
      return DType::int64;
    case kBool:
      return DType::boolean;
    case kFloat8E4m3:
      return DType::float8_e4m3;
    case kFloat8E5m2:
      return DType::float8_e5m2;
    default:
      return std::nullopt;
  }
}

std::string type_name(std::int32_t file_type) {
  const bool known = file_type >= 0 && file_type < static_cast<std::int32_t>(kTypeNames.size());
  return known ? std::string(kTypeNames[static_cast<std::size_t>(file_type)]) : "type " + std::to_string(file_type);
}

Shape checked_shape(std::vector<std::int64_t> extents, const std::string& what) {
  std::int64_t elements = 1;
  for (std::int64_t extent : extents) {
    if (extent < 0) throw Error("", what + ": negative extent in " + to_text(extents));
    const bool absurd = extent > kMostElements || elements > kMostElements / std::max<std::int64_t>(extent, 1);
    if (absurd) throw Error("", what + ": absurd shape " + to_text(extents));
    elements *= std::max<std::int64_t>(extent, 1);
  }
  return extents;
}

StoredTensor read_tensor(const TensorProto& tensor, const fs::path& model, bool read_values) {
  const std::string what = "tensor " + quoted(tensor.name());
  StoredTensor stored;
  stored.info = {*our_type(tensor.data_type()), checked_shape({tensor.dims().begin(), tensor.dims().end()}, what)};
  stored.external = tensor.data_location() == 1;
  const bool has_values = stored.external || stored.info.elements() == 0 || !no_values(tensor);
  if (!stored.external && has_values) check_size(stored.info, tensor, what);
  if (!read_values || !has_values) return stored;
  if (stored.external) {
    stored.data = std::make_shared<const Array>(read_external_data(stored.info, tensor, model, what));
  } else {
    stored.data = std::make_shared<const Array>(read_inside(stored.info, tensor, what));
  }
  return stored;
}

bool has_infinite(const TensorProto& tensor) {
  const auto any = [&]<class Bits>(Bits exponent) {
    const std::string& raw = tensor.raw_data();
    for (std::size_t at = 0; at + sizeof(Bits) <= raw.size(); at += sizeof(Bits)) {
      Bits bits;
      std::memcpy(&bits, raw.data() + at, sizeof bits);
      if ((bits & exponent) == exponent) return true;
    }
    return false;
  };
  if (tensor.data_type() == kFloat)
    return any(std::uint32_t{0x7f800000}) ||
           std::ranges::any_of(tensor.float_data(), [](float value) { return !std::isfinite(value); });
  if (tensor.data_type() == kDouble)
    return any(std::uint64_t{0x7ff0000000000000}) ||
           std::ranges::any_of(tensor.double_data(), [](double value) { return !std::isfinite(value); });
  if (tensor.data_type() == kFloat16) return any(std::uint16_t{0x7c00});
  return tensor.data_type() == kBfloat16 && any(std::uint16_t{0x7f80});
}

Array converted(const Array& from, DType type) {
  Array to(TensorInfo{type, from.info.shape});
  const double limit = largest_number(type);
  for (std::int64_t i = 0; i < from.info.elements(); ++i) {
    const double value = from.at(i);
    to.set(i, is_float(type) && std::isfinite(value) ? std::clamp(value, -limit, limit) : value);
  }
  return to;
}

std::vector<std::int64_t> integers_of(const Array& array) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(array.info.elements()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (array.info.type == DType::int64 || array.info.type == DType::uint64) {
      std::memcpy(&values[i], array.data.data() + 8 * i, 8);
      continue;
    }
    constexpr double kLimit = 9.0e18;
    const double value = array.at(static_cast<std::int64_t>(i));
    values[i] = std::isnan(value) ? 0 : static_cast<std::int64_t>(std::clamp(value, -kLimit, kLimit));
  }
  return values;
}

}  // namespace superstep::onnx_import
