// SPDX-License-Identifier: Apache-2.0
// The walk for "Explain this number": every column of every table of every view, and every number that is painted. A
// column without an explanation fails here, whichever view it is added to.
#include <gtest/gtest.h>

#include <QAbstractItemView>
#include <QCoreApplication>
#include <QFile>
#include <QHeaderView>
#include <QRegularExpression>
#include <memory>
#include <set>

#include "gui/models/key_numbers.h"
#include "gui/paint/painted_text.h"
#include "gui/session/explain.h"
#include "tests/gui/walk/reports.h"

namespace superstep::gui {
namespace {

class Explanations : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    for (const QString& path : walk_reports(GetParam())) ASSERT_TRUE(session_.open(path)) << path.toStdString();
    session_.setCurrent(0);
  }
  Session session_;
};

// "docs/explanation/cost-model.md: 7. Memory of a tile" is a file with that heading.
bool is_documented(const QString& where) {
  static std::set<QString> known;
  if (known.contains(where)) return true;
  QFile file(QString(WALK_SOURCE "/") + where.section(": ", 0, 0));
  if (!file.open(QIODevice::ReadOnly)) return false;
  const QString heading = where.section(": ", 1);
  for (const QString& line : QString::fromUtf8(file.readAll()).split('\n')) {
    static const QRegularExpression marks("^#+ ");
    // A heading may go on with the files that do it.
    if (line.startsWith('#') && (QString(line).remove(marks) + ' ').startsWith(heading + ' ')) known.insert(where);
  }
  return known.contains(where);
}

void check(const Explanation& of, const std::string& what) {
  ASSERT_FALSE(of.isEmpty()) << what << " is not explained: give its column a Meaning (gui/models/meanings.h)";
  EXPECT_TRUE(is_documented(of.where)) << what << ": no document \"" << of.where.toStdString() << '"';
}

void check_model(const QAbstractItemModel& model, const std::string& id) {
  for (int c = 0; c < model.columnCount(); ++c) {
    const std::string title = id + ", " + model.headerData(c, Qt::Horizontal).toString().toStdString();
    check(model.headerData(c, Qt::Horizontal, kExplanationRole).value<Explanation>(), title);
    for (int r = 0; r < std::min(model.rowCount(), 40); ++r) {
      const auto of = model.index(r, c).data(kExplanationRole).value<Explanation>();
      check(of, title + ", row " + std::to_string(r));
      for (const Part& part : of.parts) EXPECT_FALSE(part.name.isEmpty() || part.value.isEmpty()) << title;
    }
  }
}

TEST_P(Explanations, EveryColumnOfEveryTableHasOne) {
  for (const ViewDef& def : all_views()) {
    const auto view = shown(def, session_);
    for (const NamedTable& table : view->tables())
      check_model(*table.model, std::string(def.id) + '/' + table.name.toStdString());
    for (const QAbstractItemView* table : view->findChildren<QAbstractItemView*>()) {
      const bool own =
          !qobject_cast<const QHeaderView*>(table) && table->model() && !table->inherits("QComboBoxListView");
      if (own && table->model()->headerData(0, Qt::Horizontal, kExplanationRole).isValid())
        check_model(*table->model(), def.id);
    }
  }
}

// Numbers of four digits and more, as in the walk: the rest may be ticks.
TEST_P(Explanations, EveryPaintedNumberHasOne) {
  static const QRegularExpression number(QString::fromUtf8("(?<![A-Za-z.\\d])\\d[\\d\u202F.]{3,}"));
  TableModel key, waterfall;
  key.setContents(key_numbers_table(session_.report()));
  waterfall.setContents(waterfall_table(session_.report()));
  for (const ViewDef& def : all_views()) {
    const auto view = shown(def, session_);
    for (const PaintedText& painted : painted_texts(*view)) {
      if (!number.match(painted.text).hasMatch()) continue;
      const QPoint at = (painted.ink & painted.clip).center().toPoint();
      const QWidget* hit = view->childAt(at);
      // What the user sets is no number to explain.
      if (hit && (hit->inherits("QAbstractSpinBox") || hit->parentWidget()->inherits("QAbstractSpinBox"))) continue;
      const ExplainedPlace place = explained_at(*view, at, {{"Key numbers", &key}, {"Waterfall", &waterfall}});
      if (place.isEmpty()) {
        ADD_FAILURE() << def.id << " paints \"" << painted.text.toStdString() << "\", which nothing explains";
        continue;
      }
      if (!place.cells.empty())
        check(explained(place.cells[0]).explanation, std::string(def.id) + ' ' + painted.text.toStdString());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Reports, Explanations, ::testing::ValuesIn(walk_names()),
                         [](const auto& each) { return each.param; });

}  // namespace
}  // namespace superstep::gui
