// SPDX-License-Identifier: Apache-2.0
// Values in ONNX files: element types, tensors stored inside the file and beside it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "model/graph/tensor.h"
#include "model/onnx/onnx_subset.pb.h"

namespace superstep::onnx_import {

// Numbers of TensorProto.data_type that the importer speaks of.
inline constexpr std::int32_t kUndefined = 0, kFloat = 1, kUint8 = 2, kInt8 = 3, kUint16 = 4, kInt16 = 5, kInt32 = 6,
                              kInt64 = 7, kBool = 9, kFloat16 = 10, kDouble = 11, kUint32 = 12, kUint64 = 13,
                              kBfloat16 = 16, kFloat8E4m3 = 17, kFloat8E5m2 = 19;

// Our type for a type of the file; none for those we do not have. bfloat16 is widened to fp32.
std::optional<DType> our_type(std::int32_t file_type);
std::string type_name(std::int32_t file_type);  // "uint16", or "type 99"

// Extents as found in a file; throws Error naming `what` where one is negative or their product absurd.
Shape checked_shape(std::vector<std::int64_t> extents, const std::string& what);

struct StoredTensor {
  TensorInfo info;
  std::shared_ptr<const Array> data;  // null: shape only
  bool external = false;
};

// Returns the largest finite number of a floating type.
double largest_number(DType type);

// Throws Error (without the file) on values that are not there in full, and on external data outside of the folder of
// the file `model`, or of the folder that the model is a link into. `read_values` false: only the shape is read, and
// external data is neither opened nor looked for. The type must be one that our_type() knows.
StoredTensor read_tensor(const onnx_file::TensorProto& tensor, const std::filesystem::path& model, bool read_values);

// True if a floating tensor that lies inside the file has an infinite value or NaN.
bool has_infinite(const onnx_file::TensorProto& tensor);

// The same values in another type; finite values that the type cannot hold become its largest.
Array converted(const Array& from, DType type);

// Integers of any integer type, exactly; of floating types, truncated.
std::vector<std::int64_t> integers_of(const Array& array);

}  // namespace superstep::onnx_import
