// SPDX-License-Identifier: Apache-2.0
#include "traces/report_io.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <limits>

#include "model/error.h"
#include "tests/traces/example_report.h"

namespace superstep {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_bytes(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// The message of the Error that opening and reading everything throws; empty when nothing is wrong.
std::string failure_of(const std::filesystem::path& path) {
  try {
    const ReportFile file = ReportFile::open(path);
    for (const auto& column : file.index().columns()) {
      if (column.unit() == "text") {
        file.column_texts(column.name());
      } else {
        file.column_integers(column.name());
      }
    }
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

class ReportIoTest : public ::testing::Test {
 protected:
  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.path / "a.ssr";
};

TEST_F(ReportIoTest, ColumnsComeBackAsTheyWere) {
  constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  const std::vector<std::int64_t> integers{0, -1, kMost, kLeast, kMost, 7, 7, -7};
  const std::vector<double> reals{0.0, -1.5e300, 3.25, std::numeric_limits<double>::infinity()};
  const std::vector<std::string> texts{"forward", "", "forward", "späte Phase"};
  ReportWriter writer;
  writer.add_integers("i", "bytes", integers);
  writer.add_reals("r", "s", reals);
  writer.add_texts("t", texts);
  writer.add_integers("none", "cycles", {});
  writer.add_texts("no texts", {});
  report::Index index;
  index.set_title("round trip");
  writer.finish(index, path_);

  const ReportFile file = ReportFile::open(path_);
  EXPECT_EQ(file.index().title(), "round trip");
  EXPECT_EQ(file.index().format_version(), kReportFormatVersion);
  EXPECT_THAT(file.column_integers("i"), ElementsAreArray(integers));
  EXPECT_THAT(file.column_reals("r"), ElementsAreArray(reals));
  const TextColumn back = file.column_texts("t");
  ASSERT_EQ(back.size(), texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(back[i], texts[i]);
  EXPECT_EQ(back.texts.size(), 3u) << "equal texts are stored once";
  EXPECT_TRUE(file.column_integers("none").empty());
  EXPECT_EQ(file.column_texts("no texts").size(), 0u);
  EXPECT_TRUE(file.has_column("i"));
  EXPECT_FALSE(file.has_column("j"));
}

TEST_F(ReportIoTest, TheSameReportIsWrittenAsTheSameBytes) {
  const auto first = write_example(Example::tight, folder_.path);
  const std::string before = bytes_of(first);
  EXPECT_EQ(before, bytes_of(write_example(Example::tight, folder_.path)));
}

TEST_F(ReportIoTest, TheChecksumIsThatOfZlib) { EXPECT_EQ(checksum("123456789"), 0xCBF43926u); }

TEST_F(ReportIoTest, AnUnknownColumnNamesTheNearest) {
  const ReportFile file = ReportFile::open(write_example(Example::tight, folder_.path));
  try {
    file.column_integers("step.cycle");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("no column \"step.cycle\" (did you mean \"step.cycles\"?)"));
  }
  EXPECT_THROW(file.column_integers("step.name"), Error);
  EXPECT_THROW(file.column_texts("step.cycles"), Error);
}

TEST_F(ReportIoTest, EveryTruncationIsAnErrorWithAPlace) {
  const std::string whole = bytes_of(write_example(Example::tight, folder_.path));
  for (std::size_t part = 0; part < 50; ++part) {
    write_bytes(path_, whole.substr(0, whole.size() * part / 50));
    EXPECT_THAT(failure_of(path_), HasSubstr("a.ssr at byte ")) << part;
  }
  write_bytes(path_, whole.substr(0, whole.size() - 1));
  EXPECT_THAT(failure_of(path_), HasSubstr("truncated"));
}

TEST_F(ReportIoTest, FlippedBitsAreFound) {
  const std::string whole = bytes_of(write_example(Example::tight, folder_.path));
  const std::size_t stride = whole.size() / 500;
  for (std::size_t at = 0; at < whole.size(); at += stride) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << (at % 8)));
    write_bytes(path_, damaged);
    EXPECT_NE(failure_of(path_), "") << "bit flipped in byte " << at;
  }
}

TEST_F(ReportIoTest, ForeignFilesSayWhatTheyStartWith) {
  write_bytes(path_, "{\"model\": \"bert-large\", \"machine\": \"ipu-pod16\"}\n");
  EXPECT_THAT(failure_of(path_), HasSubstr("at byte 0: not a Superstep report: expected \"SSREPORT\", found "
                                           "\"{\"model\": \"bert-\"; this looks like JSON"));
  write_bytes(path_, "");
  EXPECT_THAT(failure_of(path_), HasSubstr("found an empty file"));
  EXPECT_THAT(failure_of(folder_.path), HasSubstr("is a folder"));
  EXPECT_THAT(failure_of(folder_.path / "none.ssr"), HasSubstr("cannot be opened: No such file"));
}

// A file around the given index, whatever it says.
std::string file_around(const report::Index& index, const std::string& columns = "") {
  const std::string body = index.SerializeAsString();
  std::string out = "SSREPORT" + columns + body;
  for (const std::uint64_t number :
       {std::uint64_t{8 + columns.size()}, std::uint64_t{body.size()}, std::uint64_t{checksum(body)}}) {
    for (int i = 0; i < 8; ++i) out.push_back(static_cast<char>(number >> (8 * i)));
  }
  return out + "SSREPORT";
}

TEST_F(ReportIoTest, ANewerVersionSaysWhoWroteIt) {
  report::Index index;
  index.set_format_version(2);
  index.set_created_by("superstep 9.0.0");
  write_bytes(path_, file_around(index));
  EXPECT_THAT(failure_of(path_), HasSubstr("format version 2, written by a newer program (superstep 9.0.0); this one "
                                           "reads up to version 1"));
  index.set_format_version(0);
  write_bytes(path_, file_around(index));
  EXPECT_THAT(failure_of(path_), HasSubstr("format version 0, expected 1 or more"));
}

TEST_F(ReportIoTest, AColumnOutsideOfTheFileIsAnError) {
  report::Index index;
  index.set_format_version(1);
  auto& column = *index.add_columns();
  column.set_name("far");
  for (const auto& [offset, size] : std::vector<std::pair<std::uint64_t, std::uint64_t>>{
           {0, 4}, {8, 1}, {1u << 30, 1}, {8, ~std::uint64_t{0}}, {~std::uint64_t{0}, 1}}) {
    column.set_offset(offset);
    column.set_size_bytes(size);
    write_bytes(path_, file_around(index));
    EXPECT_THAT(failure_of(path_), HasSubstr("outside of the file"));
  }
}

TEST_F(ReportIoTest, ATextRowWithoutATextIsAnError) {
  report::Column texts;
  texts.add_texts("only");
  texts.add_text_rows(1);
  const std::string bytes = texts.SerializeAsString();
  report::Index index;
  index.set_format_version(1);
  auto& column = *index.add_columns();
  column.set_name("t");
  column.set_unit("text");
  column.set_offset(8);
  column.set_size_bytes(bytes.size());
  column.set_rows(1);
  column.set_crc32(checksum(bytes));
  write_bytes(path_, file_around(index, bytes));
  EXPECT_THAT(failure_of(path_), HasSubstr("names text 1 of 1"));
  column.set_rows(1u << 31);
  write_bytes(path_, file_around(index, bytes));
  EXPECT_THAT(failure_of(path_), HasSubstr("has 1 rows, expected 2147483648"));
}

TEST_F(ReportIoTest, AFailedWriteLeavesTheOldReport) {
  const auto path = write_example(Example::tight, folder_.path);
  const std::string before = bytes_of(path);
  EXPECT_THROW(ReportWriter().finish({}, folder_.path / "no such folder" / "a.ssr"), Error);
  EXPECT_THROW(ReportWriter().finish({}, folder_.path), Error);
  EXPECT_EQ(bytes_of(path), before);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path), {}), 1) << "no temporary file stays";
}

TEST_F(ReportIoTest, AnOpenReportStaysWholeWhileItIsReplaced) {
  const auto path = write_example(Example::tight, folder_.path);
  const ReportFile file = ReportFile::open(path);
  const auto cycles = file.column_integers("step.cycles");
  ReportWriter().finish({}, path);
  EXPECT_EQ(file.column_integers("step.cycles"), cycles);
  EXPECT_EQ(ReportFile::open(path).index().columns_size(), 0);
}

}  // namespace
}  // namespace superstep
