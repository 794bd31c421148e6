// SPDX-License-Identifier: Apache-2.0
// Flat drawing: rectangles with hatches, text that is cut with an ellipsis, numbers with digits of
// equal width.
#pragma once

#include <QFontMetricsF>
#include <QPainter>
#include <QRectF>
#include <QString>

#include "gui/base/theme.h"

namespace superstep::gui {

void draw_fill(QPainter& painter, const QRectF& rect, const Fill& fill);

// One line; too long: cut with an ellipsis.
void draw_text(QPainter& painter, const QRectF& rect, const QString& text,
               Qt::Alignment alignment = Qt::AlignLeft | Qt::AlignVCenter);

// The start of a text that is too long, with an ellipsis; never half a number, nor what looks like it.
QString elided(const QFontMetricsF& metrics, const QString& text, double width);

// The words at both ends of a text that is too long, with an ellipsis between them.
QString elided_middle(const QFontMetricsF& metrics, const QString& text, double width);

// What a view without anything to draw says instead, in the middle and wrapped.
void draw_empty(QPainter& painter, const Theme& theme, const QRectF& rect, const QString& text);

// Every digit advances by the width of "0". Never cut.
void draw_number(QPainter& painter, const QRectF& rect, const QString& text,
                 Qt::Alignment alignment = Qt::AlignRight | Qt::AlignVCenter);
double number_width(const QFont& font, const QString& text);
double text_width(const QFont& font, const QString& text);

// A rounded label of 18 pixels' height that says whether something fits; returns its width.
double chip_width(Fit fit);
void draw_chip(QPainter& painter, const QPointF& top_left, const Theme& theme, Fit fit);

// A tool tip beside `at`, inside `within`: a title, then lines "label<TAB>value".
void draw_tip(QPainter& painter, const QRectF& within, const QRectF& at, const QStringList& lines, const Theme& theme);

// The frame of a selected datum: 2 pixels of the text colour with a light one inside.
void draw_selection(QPainter& painter, const QRectF& rect);

}  // namespace superstep::gui
