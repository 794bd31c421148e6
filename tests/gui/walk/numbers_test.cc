// SPDX-License-Identifier: Apache-2.0
// The walk: every view with every report. What it shows in numbers stands in the report, to the last digit, or is
// derived from it as derived.cc says; what it paints stands in its tables. A view is walked because it is in the list.
#include <gmock/gmock.h>

#include <QAbstractItemModelTester>
#include <QCoreApplication>
#include <QRegularExpression>
#include <QTest>
#include <cmath>
#include <memory>

#include "gui/view.h"
#include "gui/widgets/panel.h"
#include "tests/gui/walk/derived.h"
#include "tests/gui/walk/painted_text.h"
#include "tests/gui/walk/report_numbers.h"
#include "tests/gui/walk/reports.h"

namespace superstep::gui {
namespace {

class Walk : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    for (const QString& path : walk_reports(GetParam())) {
      ASSERT_TRUE(session_.open(path)) << path.toStdString() << " is made by the test gui.reports";
      numbers_.add(*session_.report());
      numbers_.add_json(walk_json(path));
    }
    two_ = walk_json(QStringLiteral(WALK_REPORTS "/two.ssr"));
    if (GetParam() == "two") numbers_.add_json(two_);
    numbers_.done();
    session_.setCurrent(0);
  }
  std::unique_ptr<View> shown(const ViewDef& def) {
    std::unique_ptr<View> view(def.make(session_, nullptr));
    view->setAttribute(Qt::WA_DontShowOnScreen);
    view->resize(1116, 632);
    view->show();
    QCoreApplication::processEvents();
    return view;
  }

  Session session_;
  ReportNumbers numbers_;
  std::string two_;
};

bool is_number(const QVariant& v) {
  return v.userType() == QMetaType::Double || v.userType() == QMetaType::LongLong || v.userType() == QMetaType::Int;
}

TEST_P(Walk, EveryNumberOfATableIsTheReports) {
  for (const ViewDef& def : all_views()) {
    const auto view = shown(def);
    for (const NamedTable& named : view->tables()) {
      const SeenTable table{std::string(def.id) + "/" + named.name.toStdString(), named.model};
      const std::string printed = std::string(def.id) == "compare" ? two_ : walk_json(session_.paths()[0]);
      const std::set<std::string> derived = check_derived(table, session_, printed);
      for (int c = 0; c < table.model->columnCount(); ++c) {
        const std::string title = table.model->headerData(c, Qt::Horizontal).toString().toStdString();
        if (derived.contains(title)) continue;
        for (int r = 0; r < table.rows(); ++r) {
          const QVariant value = table.model->index(r, c).data(kExactRole);
          if (!is_number(value) || numbers_.has(value)) continue;
          if (value.userType() == QMetaType::Double && numbers_.has_converted(value.toDouble())) continue;
          ADD_FAILURE() << table.id << ", " << title << ", row " << r << ": " << value.toString().toStdString()
                        << " is not in the report; is it derived? (tests/gui/walk/derived.cc)";
          break;
        }
      }
    }
  }
}

TEST_P(Walk, EveryTableIsAModel) {
  for (const ViewDef& def : all_views()) {
    const auto view = shown(def);
    for (const NamedTable& table : view->tables()) {
      QAbstractItemModelTester tester(const_cast<QAbstractItemModel*>(table.model),
                                      QAbstractItemModelTester::FailureReportingMode::Fatal);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Reports, Walk, ::testing::ValuesIn(walk_names()),
                         [](const auto& each) { return each.param; });

}  // namespace
}  // namespace superstep::gui
