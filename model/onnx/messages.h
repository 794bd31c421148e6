// SPDX-License-Identifier: Apache-2.0
// ONNX models that were not read from an ONNX file. ModelFile::path is for messages.
#pragma once

#include <string>

#include "model/onnx/model_file.h"

namespace superstep {
struct Annotation;
struct ImportOptions;
struct ImportResult;
}  // namespace superstep

namespace superstep::onnx_import {

// All of import_onnx() but for reading the file.
ImportResult import_messages(ModelFile file, const ImportOptions& options);

// All of annotated_onnx() but for reading the file.
std::string annotated_messages(ModelFile file, const ImportResult& imported, const Annotation& annotation);

}  // namespace superstep::onnx_import
