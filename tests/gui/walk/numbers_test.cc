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

#include "gui/models/table_model.h"
#include "gui/session/view.h"
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

  void check_table(const ViewDef& def, const NamedTable& named);

  Session session_;
  ReportNumbers numbers_;
  std::string two_;
};

bool is_number(const QVariant& v) {
  return v.userType() == QMetaType::Double || v.userType() == QMetaType::LongLong || v.userType() == QMetaType::Int;
}

void Walk::check_table(const ViewDef& def, const NamedTable& named) {
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

// Calls see() with each page of a view; one without pages is one.
template <class See>
void each_page(View& view, const See& see) {
  const auto pages = std::max<qsizetype>(1, view.pages().size());
  for (int page = static_cast<int>(pages) - 1; page >= 0; --page) {  // the first one stays
    if (pages > 1) view.showPage(page);
    see();
  }
}

TEST_P(Walk, EveryNumberOfATableIsTheReports) {
  for (const ViewDef& def : all_views()) {
    const auto view = shown(def, session_);
    each_page(*view, [&] {
      for (const NamedTable& named : view->tables()) check_table(def, named);
    });
  }
}

struct Token {
  QString text;
  double value = 0;
  int decimals = 0, digits = 0;  // digits: that say something
};

std::vector<Token> tokens(const QString& text) {
  static const QRegularExpression number(QString::fromUtf8("[−-]?\\d[\\d\u202F]*(?:\\.(\\d+))?"));
  std::vector<Token> out;
  for (auto all = number.globalMatch(text); all.hasNext();) {
    const auto match = all.next();
    QString plain = match.captured();
    plain.remove(QChar(0x202F)).replace(QChar(0x2212), '-');
    QString digits = plain;
    digits.remove('-').remove('.');
    while (digits.startsWith('0')) digits.remove(0, 1);
    while (digits.endsWith('0')) digits.chop(1);
    out.push_back({match.captured(), plain.toDouble(), static_cast<int>(match.capturedLength(1)),
                   static_cast<int>(digits.size())});
  }
  return out;
}

// What a view may paint: what its tables say, row counts and sums of columns, what is to spare, the index and its
// words.
struct Painted {
  ReportNumbers numbers;
  QString words;

  double first_ms = 0, last_ms = -1;  // of a table of times: its axis has ticks between them

  void add_times(const SeenTable& table) {
    if (table.rows() == 0 || table.column("From, ms") < 0 || table.column("µs") < 0) return;
    const int last = table.rows() - 1;
    first_ms = table.value(0, "From, ms");
    last_ms = table.value(last, "From, ms") + table.value(last, "µs") / 1e3;
    numbers.add(last_ms);
    numbers.add(last_ms - first_ms);
  }
  bool is_tick(const QString& text, const Token& token) const {
    return text == token.text && token.decimals == 0 && token.value >= first_ms && token.value <= last_ms;
  }
  void add_table(const QAbstractItemModel& table) {
    add_times({{}, &table});
    numbers.add(std::int64_t{table.rowCount()});
    for (int c = 0; c < table.columnCount(); ++c) {
      double sum = 0;
      for (int r = 0; r < table.rowCount(); ++r) {
        const QVariant value = table.index(r, c).data(kExactRole);
        if (is_number(value)) {
          numbers.add(value.toDouble());
          sum += value.toDouble();
        } else {
          words += table.index(r, c).data().toString() + '\n';
        }
      }
      numbers.add(sum);
    }
  }
  void add_index(const report::Index& index) {
    numbers.add_index(index);
    std::string text = index.plan().first_overflow() + '\n';
    for (const auto& fact : index.facts()) text += fact.value() + '\n';
    for (const auto& note : index.notes()) text += note + '\n';
    words += for_viewer(text);
    numbers.add(std::int64_t{std::abs(index.plan().tile_limit_bytes() - index.plan().tile_peak_bytes())});
    for (const auto& ipu : index.ipu_classes()) {
      numbers.add(std::int64_t{std::abs(ipu.tile_limit_bytes() - ipu.tile_peak_bytes())});
    }
    numbers.add(index.search().explored() + index.search().pruned());
  }
};

// "362 equal cycles, 1 971.7 ms": so many times what one takes.
bool is_folded(const QString& text, const report::Index& index) {
  const auto parts = tokens(text);
  if (!text.contains("equal cycles") || parts.size() != 2) return false;
  for (const auto& child : index.program().children()) {
    const double ms = parts[0].value * static_cast<double>(child.cycles()) / index.clock_hz() * 1e3;
    if (std::abs(ms - parts[1].value) <= 0.05) return true;
  }
  return false;
}

// Four digits and more are no tick of an axis and no chance. Tiles are numbered.
TEST_P(Walk, EveryPaintedNumberIsInATableOrTheIndex) {
  const report::Index& index = session_.report()->index();
  for (const ViewDef& def : all_views()) {
    const auto view = shown(def, session_);
    each_page(*view, [&] {
      Painted known;
      for (int i = 0; i < session_.paths().size(); ++i) known.add_index(session_.reportAt(i)->index());
      for (const NamedTable& table : view->tables()) known.add_table(*table.model);
      known.numbers.done();
      for (const PaintedText& painted : painted_texts(*view)) {
        if (is_folded(painted.text, index)) continue;
        // Sums of the table of what was searched.
        if (std::string(def.id) == "landscape" && painted.text.contains(" settings in ")) continue;
        for (const Token& token : tokens(painted.text)) {
          if (token.digits < 4 || known.words.contains(token.text)) continue;
          if (known.is_tick(painted.text, token)) continue;
          if (known.numbers.has_rounded(token.value, token.decimals)) continue;
          if (std::string(def.id) == "heatmap" && token.decimals == 0 &&
              token.value < static_cast<double>(index.tiles_per_ipu())) {
            continue;
          }
          ADD_FAILURE() << def.id << " paints " << token.text.toStdString() << " in \"" << painted.text.toStdString()
                        << "\", which no table of it has";
        }
      }
    });
  }
}

TEST_P(Walk, EveryTableIsAModel) {
  for (const ViewDef& def : all_views()) {
    const auto view = shown(def, session_);
    for (const NamedTable& table : view->tables()) {
      QAbstractItemModelTester tester(const_cast<QAbstractItemModel*>(table.model),
                                      QAbstractItemModelTester::FailureReportingMode::Fatal);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Reports, Walk, ::testing::ValuesIn(walk_names()), [](const auto& each) { return each.param; });

}  // namespace
}  // namespace superstep::gui
