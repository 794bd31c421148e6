// SPDX-License-Identifier: Apache-2.0
// Whatever is wrong with a file, the window says so and stays, with what was open before.
#include <gmock/gmock.h>

#include <QCoreApplication>
#include <fstream>
#include <limits>

#include "gui/main_window.h"
#include "gui/session/view.h"
#include "tests/traces/example_report.h"

namespace superstep::gui {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

std::string read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::uint64_t u64_at(const std::string& bytes, std::size_t at) {
  std::uint64_t value = 0;
  for (std::size_t i = 8; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

// The file with another index, whole in itself.
template <class Edit>
std::string with_index(const std::string& bytes, Edit edit) {
  const std::uint64_t offset = u64_at(bytes, bytes.size() - 32), size = u64_at(bytes, bytes.size() - 24);
  report::Index index;
  index.ParseFromString(bytes.substr(offset, size));
  edit(index);
  const std::string again = index.SerializeAsString();
  std::string out = bytes.substr(0, offset) + again;
  for (const std::uint64_t value : {offset, std::uint64_t{again.size()}, std::uint64_t{checksum(again)}}) {
    for (int i = 0; i < 8; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
  }
  return out + "SSREPORT";
}

class BadReports : public ::testing::Test {
 protected:
  void SetUp() override {
    window_.resize(1280, 720);
    window_.show();
    good_ = read(write_example(Example::tight, folder_.path));
    ASSERT_TRUE(session_.open(QString::fromStdString((folder_.path / "bert-large-tight.ssr").string())));
  }
  bool open(const std::string& bytes) {
    const auto path = folder_.path / "other.ssr";
    std::ofstream(path, std::ios::binary) << bytes;
    return session_.open(QString::fromStdString(path.string()));
  }
  std::string message() const { return window_.message().toStdString(); }
  void each_view_lives() {
    for (int view = 0; view < static_cast<int>(all_views().size()); ++view) {
      window_.showView(view);
      QCoreApplication::processEvents();
      EXPECT_FALSE(window_.grab().isNull());
    }
  }

  TemporaryFolder folder_;
  std::string good_;
  Session session_;
  MainWindow window_{session_};
};

TEST_F(BadReports, OneThatEndsAnywhereIsAMessage) {
  for (std::size_t cut = 0; cut < good_.size(); cut += 1 + good_.size() / 60) {
    EXPECT_FALSE(open(good_.substr(0, cut))) << cut;
    EXPECT_THAT(message(), AnyOf(HasSubstr("truncated"), HasSubstr("not a Superstep report"))) << cut;
  }
  EXPECT_EQ(session_.report()->index().ipu_classes_size(), 4);
  each_view_lives();
}

TEST_F(BadReports, OneOfANewerVersionIsAMessageThatSaysWhoWroteIt) {
  EXPECT_FALSE(open(with_index(good_, [](report::Index& index) {
    index.set_format_version(2);
    index.set_created_by("superstep 9.0");
  })));
  EXPECT_THAT(message(), HasSubstr("format version 2, written by a newer program (superstep 9.0)"));
  each_view_lives();
}

TEST_F(BadReports, ForeignFilesAndFoldersAreMessages) {
  EXPECT_FALSE(open("\x89PNG\r\n\x1a\n and so on, long enough to hold a trailer of thirty-two bytes"));
  EXPECT_THAT(message(), HasSubstr("not a Superstep report"));
  EXPECT_FALSE(session_.open(QString::fromStdString(folder_.path.string())));
  EXPECT_THAT(message(), HasSubstr("is a folder"));
  each_view_lives();
}

// Columns that were damaged on the way: each view shows what it still can.
TEST_F(BadReports, DamagedColumnsAreAMessageAndTheViewsLive) {
  std::string damaged = good_;
  for (std::size_t at = 100; at < u64_at(good_, good_.size() - 32); at += 97)
    damaged[at] = static_cast<char>(~damaged[at]);
  ASSERT_TRUE(open(damaged)) << "the index is whole";
  each_view_lives();
  EXPECT_THAT(message(), HasSubstr("does not match its checksum"));
}

TEST_F(BadReports, NumbersWithoutMeasureDoNotEndTheWindow) {
  ASSERT_TRUE(open(with_index(good_, [](report::Index& index) {
    index.mutable_plan()->set_step_time_s(std::numeric_limits<double>::infinity());
    index.mutable_plan()->set_samples_per_second(std::numeric_limits<double>::quiet_NaN());
    index.mutable_waterfall(0)->set_seconds(1e300);
    index.mutable_ipu_classes(0)->set_tile_peak_bytes(std::int64_t{1} << 60);
    index.set_clock_hz(0);
  })));
  each_view_lives();
}

}  // namespace
}  // namespace superstep::gui
