// SPDX-License-Identifier: Apache-2.0
// What a number is: the words behind "Explain this number". A column says it where it is defined, beside its title;
// a row may say more.
#pragma once

#include <QMetaType>
#include <QString>
#include <vector>

namespace superstep::gui {

// Of a column. All four are sentences or names; `unit` is that of the exact value, "" of texts.
struct Meaning {
  const char* what = nullptr;  // null: not said, which the walk through all views finds
  const char* unit = "";
  const char* how = "";         // the formula, or what of the report it is
  const char* where = nullptr;  // "docs/explanation/cost-model.md: 7. Memory of a tile", file and heading
};

struct ColumnTitle {
  QString text;  // with its unit
  Meaning meaning = {};
  ColumnTitle(const char* title, const Meaning& of = {}) : text(QString::fromUtf8(title)), meaning(of) {}
  ColumnTitle(QString title, const Meaning& of = {}) : text(std::move(title)), meaning(of) {}
};
inline ColumnTitle operator+(const ColumnTitle& title, const QString& more) {
  return {title.text + more, title.meaning};
}

// What a value is made of.
struct Part {
  QString name, value;
  QString source;  // row of the machine file, constant, or another number of the report
};

// Of a cell: its column's meaning, and what its row adds.
struct Explanation {
  QString what, unit, how, where;
  std::vector<Part> parts;
  bool isEmpty() const { return what.isEmpty(); }
};
Explanation explanation_of(const Meaning& meaning);

}  // namespace superstep::gui

Q_DECLARE_METATYPE(superstep::gui::Explanation)  // NOLINT(readability-identifier-naming): Qt names a variable so
