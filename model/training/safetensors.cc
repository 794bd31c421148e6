// SPDX-License-Identifier: Apache-2.0
#include "model/training/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "model/error.h"
#include "model/json_reader.h"

namespace superstep {

namespace {

using Json = nlohmann::json;
static_assert(std::endian::native == std::endian::little);

constexpr std::uint64_t kLongestHeader = 100'000'000;  // of the format
constexpr const char* kMetadata = "__metadata__";

const std::vector<std::pair<std::string, DType>> kTypesInFile = {{"F16", DType::fp16},
                                                                 {"F32", DType::fp32},
                                                                 {"F64", DType::fp64},
                                                                 {"I8", DType::int8},
                                                                 {"I16", DType::int16},
                                                                 {"I32", DType::int32},
                                                                 {"I64", DType::int64},
                                                                 {"U8", DType::uint8},
                                                                 {"U16", DType::uint16},
                                                                 {"U32", DType::uint32},
                                                                 {"U64", DType::uint64},
                                                                 {"BOOL", DType::boolean},
                                                                 {"F8_E4M3", DType::float8_e4m3},
                                                                 {"F8_E5M2", DType::float8_e5m2}};

std::string name_in_file(DType type) {
  const auto same = [type](const auto& entry) { return entry.second == type; };
  return std::find_if(kTypesInFile.begin(), kTypesInFile.end(), same)->first;
}

std::string header_of(const TensorFile& file) {
  Json header = Json::object();
  if (!file.metadata.empty()) header[kMetadata] = file.metadata;
  std::size_t begin = 0;
  for (const auto& [name, array] : file.tensors) {
    const std::size_t end = begin + array.data.size();
    header[name] = {
        {"dtype", name_in_file(array.info.type)}, {"shape", array.info.shape}, {"data_offsets", {begin, end}}};
    begin = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // tensors begin at a multiple of 8
  return text;
}

struct Entry {
  std::string name;
  TensorInfo info;
  std::int64_t begin = 0, end = 0;
};

Entry entry_of(JsonReader all, const std::string& name) {
  constexpr std::int64_t kMost = std::int64_t{1} << 50;
  JsonReader r = all.object(name);
  std::vector<std::string> types;
  for (const auto& [type, ours] : kTypesInFile) types.push_back(type);
  const std::string type = r.name("dtype", types);
  Entry entry{.name = name};
  for (const auto& [known, ours] : kTypesInFile) {
    if (known == type) entry.info.type = ours;
  }
  const auto numbers = [&](const char* key) {
    const Json& list = r.raw(key);
    std::vector<std::int64_t> found;
    for (const Json& v : list.is_array() ? list : Json::array({nullptr})) {
      const auto n = whole_number(v);
      if (!n || *n < 0 || *n > kMost) r.fail(key, "found " + describe(list) + ", expected a list of sizes");
      found.push_back(*n);
    }
    return found;
  };
  entry.info.shape = numbers("shape");
  const std::vector<std::int64_t> place = numbers("data_offsets");
  if (place.size() != 2) r.fail("data_offsets", "found " + std::to_string(place.size()) + " numbers, expected 2");
  entry.begin = place[0], entry.end = place[1];
  double bytes = static_cast<double>(size_of(entry.info.type));
  for (std::int64_t extent : entry.info.shape) bytes *= static_cast<double>(extent);
  if (bytes != static_cast<double>(entry.end - entry.begin))
    r.fail("data_offsets",
           "found " + std::to_string(entry.end - entry.begin) + " bytes for " + type + to_text(entry.info.shape));
  r.finish();
  return entry;
}

// Tensors in the order of their places, which cover all bytes.
std::vector<Entry> entries_of(const Json& header, const std::string& path, std::int64_t bytes) {
  std::vector<Entry> entries;
  for (const auto& [name, value] : header.items()) {
    if (name != kMetadata) entries.push_back(entry_of(JsonReader(header, path), name));
  }
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::int64_t at = 0;
  for (const Entry& e : entries) {
    if (e.begin != at)
      throw Error(path, "tensor \"" + e.name + "\" begins at byte " + std::to_string(e.begin) + ", expected " +
                            std::to_string(at));
    at = e.end;
  }
  if (at != bytes)
    throw Error(path, "found " + std::to_string(bytes) + " bytes of tensors, expected " + std::to_string(at));
  return entries;
}

std::map<std::string, std::string> metadata_of(const Json& header, const std::string& path) {
  std::map<std::string, std::string> texts;
  if (!header.contains(kMetadata)) return texts;
  JsonReader all(header, path);
  JsonReader r = all.object(kMetadata);
  for (const auto& [name, value] : header.at(kMetadata).items()) texts[name] = r.text(name);
  return texts;
}

}  // namespace

void write_safetensors(const std::string& path, const TensorFile& file) {
  const std::string temporary = path + ".part";
  std::ofstream out(temporary, std::ios::binary);
  const std::string header = header_of(file);
  const std::uint64_t length = header.size();
  out.write(reinterpret_cast<const char*>(&length), 8);
  out.write(header.data(), static_cast<std::streamsize>(header.size()));
  for (const auto& [name, array] : file.tensors) {
    out.write(reinterpret_cast<const char*>(array.data.data()), static_cast<std::streamsize>(array.data.size()));
  }
  out.close();
  std::error_code error;
  if (out) std::filesystem::rename(temporary, path, error);
  if (!out || error) {
    std::filesystem::remove(temporary, error);
    throw Error(path, "cannot be written");
  }
}

TensorFile read_safetensors(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::error_code error;
  const auto size = static_cast<std::int64_t>(std::filesystem::file_size(path, error));
  if (!in || error) throw Error(path, "cannot be read, expected a file of tensors");
  std::uint64_t length = 0;
  in.read(reinterpret_cast<char*>(&length), 8);
  if (!in || length > kLongestHeader || static_cast<std::int64_t>(length) > size - 8)
    throw Error(path, "is not a safetensors file, or is truncated");
  std::string text(length, '\0');
  in.read(text.data(), static_cast<std::streamsize>(length));
  const Json header = parse_json_text(text, path);
  if (!header.is_object()) throw Error(path, "found " + describe(header) + " as header, expected an object");
  TensorFile file{.tensors = {}, .metadata = metadata_of(header, path)};
  for (const Entry& e : entries_of(header, path, size - 8 - static_cast<std::int64_t>(length))) {
    Array& array = file.tensors[e.name] = Array(e.info);
    in.read(reinterpret_cast<char*>(array.data.data()), static_cast<std::streamsize>(array.data.size()));
  }
  if (!in) throw Error(path, "cannot be read");
  return file;
}

}  // namespace superstep
