// SPDX-License-Identifier: Apache-2.0
#include "model/training/safetensors.h"

#include <gmock/gmock.h>

#include <fstream>

#include "small_models.h"

namespace superstep {
namespace {

using testing::HasSubstr;

void write_bytes(const std::string& path, const std::string& header, const std::string& data) {
  std::ofstream out(path, std::ios::binary);
  const std::uint64_t length = header.size();
  out.write(reinterpret_cast<const char*>(&length), 8);
  out << header << data;
}

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Safetensors, KeepEveryTypeShapeAndBit) {
  const Folder folder;
  TensorFile file;
  for (std::size_t i = 0; i < kDTypes; ++i) {
    const auto type = static_cast<DType>(i);
    file.tensors[std::string(name_of(type)) + "/a b\"c"] = Array::from(type, {2, 3}, {0, 1, 2, 100, 4, 5});
  }
  file.tensors["scalar"] = Array::from(DType::boolean, {}, {1});
  file.tensors["empty"] = Array(TensorInfo{DType::fp32, {0, 4}});
  file.metadata = {{"step", "3"}};
  write_safetensors(folder.file("x"), file);
  const TensorFile read = read_safetensors(folder.file("x"));
  EXPECT_EQ(read.tensors, file.tensors);
  EXPECT_EQ(read.metadata, file.metadata);
  EXPECT_FALSE(std::filesystem::exists(folder.file("x.part")));
}

// As the format's documentation writes it, byte by byte.
TEST(Safetensors, AreLengthHeaderAndBytes) {
  const Folder folder;
  write_safetensors(folder.file("x"), {.tensors = {{"w", Array::from(DType::uint8, {2}, {65, 66})}}, .metadata = {}});
  std::string header = R"({"w":{"data_offsets":[0,2],"dtype":"U8","shape":[2]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const std::string length = {static_cast<char>(header.size()), 0, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(bytes_of(folder.file("x")), length + header + "AB");
}

TEST(Safetensors, OfOthersMayListTensorsInAnyOrder) {
  const Folder folder;
  write_bytes(
      folder.file("x"),
      R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[2,3]},"b":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})",
      "xyz");
  const TensorFile read = read_safetensors(folder.file("x"));
  EXPECT_EQ(read.tensors.at("a").at(0), 'z');
  EXPECT_EQ(read.tensors.at("b").at(1), 'y');
}

TEST(Safetensors, ThatAreDamagedAreRefusedWithTheReason) {
  const Folder folder;
  const std::string path = folder.file("x");
  const auto why = [&](const std::string& header, const std::string& data) {
    write_bytes(path, header, data);
    return message_of([&] { read_safetensors(path); });
  };
  EXPECT_THAT(message_of([&] { read_safetensors(folder.file("none")); }), HasSubstr("cannot be read"));
  const std::string good = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  EXPECT_EQ(why(good, "12345678"), "");
  EXPECT_THAT(why(good, "1234567"), HasSubstr("found 7 bytes of tensors, expected 8"));
  EXPECT_THAT(why(good, "123456789"), HasSubstr("found 9 bytes"));
  EXPECT_THAT(why("[1]", ""), HasSubstr("expected an object"));
  EXPECT_THAT(why("{", ""), HasSubstr("byte"));
  EXPECT_THAT(why(R"({"a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}})", "1234"), HasSubstr("BF16"));
  EXPECT_THAT(why(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", "12345678"), HasSubstr("F32[3]"));
  EXPECT_THAT(why(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})", "12"), HasSubstr("begins at byte 1"));
  EXPECT_THAT(why(R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,2]}})", "12"), HasSubstr("list of sizes"));
  std::ofstream(path, std::ios::binary) << std::string(8, '\xff') << "{}";
  EXPECT_THAT(message_of([&] { read_safetensors(path); }), HasSubstr("not a safetensors file"));
  std::ofstream(path, std::ios::binary) << "abc";
  EXPECT_THAT(message_of([&] { read_safetensors(path); }), HasSubstr("not a safetensors file"));
}

TEST(Safetensors, ThatCannotBeWrittenLeaveTheOldFileAlone) {
  EXPECT_THAT(message_of([] { write_safetensors("/nowhere/x", {}); }), HasSubstr("/nowhere/x: cannot be written"));
}

}  // namespace
}  // namespace superstep
