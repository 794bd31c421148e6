// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QRegularExpression>
#include <QString>

namespace superstep::gui {

// What a text that is searched for finds: itself, and what matches it as a regular expression; whatever the case.
inline QRegularExpression search_pattern(const QString& text) {
  const QString literal = QRegularExpression::escape(text);
  const bool is_pattern = QRegularExpression(text).isValid();
  return QRegularExpression(is_pattern ? literal + '|' + text : literal, QRegularExpression::CaseInsensitiveOption);
}

}  // namespace superstep::gui
