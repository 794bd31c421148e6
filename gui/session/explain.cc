// SPDX-License-Identifier: Apache-2.0
#include "gui/session/explain.h"

#include <QAbstractItemView>
#include <QAbstractProxyModel>
#include <QHeaderView>
#include <QRegularExpression>
#include <algorithm>
#include <array>
#include <cmath>

#include "gui/base/format.h"
#include "gui/models/meanings.h"
#include "gui/paint/painted_text.h"

namespace superstep::gui {
namespace {

constexpr int kMostSearchedRows = 20'000;  // of a table that are searched for a number
constexpr std::size_t kMostCells = 8;

bool is_number(const QVariant& v) {
  return v.userType() == QMetaType::Double || v.userType() == QMetaType::LongLong || v.userType() == QMetaType::Int;
}

// The first column that is a name; a cell in it names itself.
QString row_name(const QModelIndex& cell) {
  const QAbstractItemModel& model = *cell.model();
  for (int c = 0; c < model.columnCount(cell.parent()); ++c) {
    const QModelIndex at = cell.siblingAtColumn(c);
    const bool named = !at.data(Qt::DisplayRole).toString().isEmpty() && !is_number(at.data(kExactRole));
    // A sign for the fit is no name.
    if (named && !model.headerData(c, Qt::Horizontal).toString().isEmpty()) return at.data().toString();
  }
  return model.columnCount(cell.parent()) > 0 ? cell.siblingAtColumn(0).data().toString() : QString();
}

struct Token {
  double value = 0;
  int decimals = 0;
};

std::vector<Token> tokens(const QString& text) {
  static const QRegularExpression number(QString::fromUtf8("(?<![A-Za-z.\\d])[−-]?\\d[\\d\u202F]*(?:\\.(\\d+))?"));
  std::vector<Token> out;
  for (auto all = number.globalMatch(text); all.hasNext();) {
    const auto match = all.next();
    QString plain = match.captured();
    plain.remove(QChar(0x202F)).replace(QChar(0x2212), '-');
    out.push_back({std::abs(plain.toDouble()), static_cast<int>(match.capturedLength(1))});
  }
  return out;
}

// How well a value is the token: 0 as it is, 1 in another unit, -1 not at all.
int match(double value, const Token& token) {
  constexpr std::array kUnits{1.0, 1.0 / 1024, 1.0 / 1048576, 1.0 / 1073741824, 1e3, 1e6, 1e-3, 1e-6, 1e-9, 100.0};
  const double room = 0.5 * std::pow(10, -token.decimals) * (1 + 1e-9);
  for (std::size_t i = 0; i < kUnits.size(); ++i) {
    if (std::abs(std::abs(value) * kUnits[i] - token.value) <= room) return i == 0 ? 0 : 1;
  }
  return -1;
}

QModelIndex cell_of_table(QAbstractItemView& table, const QPoint& global) {
  return table.indexAt(table.viewport()->mapFromGlobal(global));
}

}  // namespace

ExplainedCell explained(const QModelIndex& cell) {
  ExplainedCell out;
  if (!cell.isValid()) return out;
  out.column = cell.model()->headerData(cell.column(), Qt::Horizontal).toString();
  out.row = row_name(cell);
  out.shown = cell.data().toString();
  const QVariant exact = cell.data(kExactRole);
  out.exact = exact.userType() == QMetaType::Double ? exact_seconds(exact.toDouble())
              : is_number(exact)                    ? grouped(exact.toLongLong())
                                                    : exact.toString();
  out.explanation = cell.data(kExplanationRole).value<Explanation>();
  return out;
}

QString exact_text(const ExplainedCell& cell) {
  const QString& unit = cell.explanation.unit;
  const bool written = unit.isEmpty() || unit.startsWith("as the ");
  return written ? cell.exact : cell.exact + ' ' + unit;
}

QString short_explanation(const ExplainedPlace& place) {
  if (place.isEmpty()) return {};
  const ExplainedCell cell = place.cells.empty() ? place.other : explained(place.cells.front());
  QStringList name{cell.row, cell.column};
  name.removeAll(QString());
  name.removeDuplicates();
  QStringList lines{name.join(QString::fromUtf8(" · "))};
  if (cell.exact != cell.row) lines << exact_text(cell);
  lines << cell.explanation.what << QObject::tr("E for more");
  lines.removeAll(QString());
  return lines.join('\n');
}

std::vector<QPersistentModelIndex> cells_of_text(const std::vector<NamedTable>& tables, const QString& text) {
  std::vector<QPersistentModelIndex> same, converted;
  const std::vector<Token> wanted = tokens(text);
  const QString words = text.trimmed();
  for (const NamedTable& table : tables) {
    const int rows = std::min(table.model->rowCount(), kMostSearchedRows);
    for (int c = 0; c < table.model->columnCount() && !wanted.empty(); ++c) {
      for (int r = 0; r < rows; ++r) {
        const QModelIndex cell = table.model->index(r, c);
        const QVariant exact = cell.data(kExactRole);
        if (!is_number(exact)) {
          if (words.size() > 3 && exact.toString().contains(words)) same.emplace_back(cell);
          continue;
        }
        for (const Token& token : wanted) {
          const int how = match(exact.toDouble(), token);
          if (how >= 0) (how == 0 ? same : converted).emplace_back(cell);
          if (how >= 0) break;
        }
        if (same.size() >= kMostCells) return same;
      }
    }
  }
  same.insert(same.end(), converted.begin(), converted.end());
  same.resize(std::min(same.size(), kMostCells));
  return same;
}

namespace {

// A number that no table has: how many rows one has, or a tick.
ExplainedCell other_number(const std::vector<NamedTable>& tables, const QString& text) {
  ExplainedCell out;
  out.row = out.exact = text;
  const std::vector<Token> numbers = tokens(text);
  for (const NamedTable& table : tables) {
    const auto counts = [&](const Token& t) { return t.decimals == 0 && t.value == table.model->rowCount(); };
    if (std::none_of(numbers.begin(), numbers.end(), counts)) continue;
    out.explanation = explanation_of(means::kRowCount);
    out.explanation.parts.push_back({table.name, grouped(table.model->rowCount()), {}});
    return out;
  }
  static const QRegularExpression only_number(QString::fromUtf8("^[−-]?[\\d\u202F.]+( %| [KMG]i?B)?$"));
  if (only_number.match(text).hasMatch()) out.explanation = explanation_of(means::kTick);
  return out;
}

}  // namespace

ExplainedPlace explained_at(View& view, const QPoint& at, const std::vector<NamedTable>& more) {
  QWidget* hit = view.childAt(at);
  if (!hit) return {};
  const QPoint global = view.mapToGlobal(at);
  for (QWidget* w = hit; w != &view && w; w = w->parentWidget()) {
    auto* table = qobject_cast<QAbstractItemView*>(w);
    if (!table || qobject_cast<QHeaderView*>(w)) continue;
    const QModelIndex cell = cell_of_table(*table, global);
    if (cell.data(kExplanationRole).value<Explanation>().isEmpty()) return {};
    return {{cell}, {}};
  }
  for (QWidget* w = hit; w != &view && w; w = w->parentWidget()) {
    const QModelIndex cell = view.valueAt(w, w->mapFromGlobal(global));
    if (cell.isValid()) return {{cell}, {}};
  }
  for (const PaintedText& painted : painted_texts(view)) {
    if (!painted.ink.adjusted(-4, -4, 4, 4).contains(at)) continue;
    const std::vector<NamedTable> tables = view.tables();
    if (auto cells = cells_of_text(tables, painted.text); !cells.empty()) return {std::move(cells), {}};
    if (auto cells = cells_of_text(more, painted.text); !cells.empty()) return {std::move(cells), {}};
    if (auto other = other_number(tables, painted.text); !other.explanation.isEmpty()) return {{}, other};
  }
  return {};
}

}  // namespace superstep::gui
