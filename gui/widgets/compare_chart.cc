// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/compare_chart.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "gui/paint/draw.h"

namespace superstep::gui {
namespace {

constexpr double kCompareMargin = 12;
constexpr double kCompareNames = 22;

QFont number_font(bool strong) { return ui_font(12, strong ? QFont::DemiBold : QFont::Normal); }

}  // namespace

CompareChart::CompareChart(const TableModel& model, QWidget* parent) : QWidget(parent), model_(model) {
  setObjectName("compareChart");
  setAccessibleName(tr("Waterfalls side by side, and their differences"));
  setFocusPolicy(Qt::StrongFocus);
}

void CompareChart::setComparison(ComparedPointer compared, bool percent) {
  compared_ = std::move(compared);
  columns_.reports = compared_ ? compared_->size() : 0;
  percent_ = percent;
  updateGeometry();
  update();
}

void CompareChart::setSelectedTerm(const QString& term) {
  selectedTerm_ = term;
  update();
}

int CompareChart::differenceColumn(int target) const {
  return percent_ ? columns_.percent(target) : columns_.difference(target);
}

CompareLayout CompareChart::layoutNow() const {
  CompareLayout::Input in;
  in.width = width();
  in.height = height();
  if (!compared_ || compared_->empty() || model_.rowCount() == 0) return CompareLayout::of(in);
  const auto& terms = compared_->comparison.waterfall;
  in.seconds.resize(static_cast<std::size_t>(compared_->size()));
  in.starts.resize(in.seconds.size());
  for (std::size_t r = 0; r < in.seconds.size(); ++r) {
    // A row that is not shown still moves those after it.
    std::vector<double> starts(terms.size());
    double sum = 0;
    for (std::size_t i = 0; i < terms.size(); ++i) {
      starts[i] = sum;
      sum += terms[i].seconds[r].value_or(0);
    }
    const int column = columns_.seconds(static_cast<int>(r));
    for (int row = 0; row < model_.rowCount(); ++row) {
      const int source = model_.index(row, 0).data(kSourceRole).toInt();
      in.seconds[r].push_back(model_.index(row, column).data(kExactRole).toDouble());
      in.starts[r].push_back(source < 0 ? 0 : starts[static_cast<std::size_t>(source)]);
    }
  }
  for (int row = 0; row < model_.rowCount(); ++row) {
    in.label = std::max(in.label, text_width(number_font(isTotal(row)), cell(row, 0)) + 1);
    for (int r = 0; r < compared_->size(); ++r) {
      in.number = std::max(in.number, number_width(number_font(true), cell(row, columns_.ms(r))));
      if (r > 0)
        in.difference = std::max(in.difference, number_width(number_font(true), cell(row, differenceColumn(r))));
    }
  }
  return CompareLayout::of(in);
}

QSize CompareChart::minimumSizeHint() const {
  constexpr int kEach = 235, kFew = 4;  // more reports than a few scroll across
  const int reports = compared_ ? compared_->size() : 0;
  return {reports > kFew ? 170 + kEach * reports : 500,
          static_cast<int>(CompareLayout::kHead + CompareLayout::kLeastRow * std::max(4, model_.rowCount()) + 4)};
}

QSize CompareChart::sizeHint() const {
  return {900, static_cast<int>(CompareLayout::kHead + 19 * std::max(4, model_.rowCount()) + 4)};
}

void CompareChart::paintHeads(QPainter& painter, const CompareLayout& layout) const {
  const Theme& theme = theme_of(this);
  const double bottom = layout.row(layout.rows() - 1).bottom();
  for (int r = 0; r < compared_->size(); ++r) {
    const auto& side = layout.waterfalls[static_cast<std::size_t>(r)];
    const QRectF head(side.left, 1, side.number_right - side.left, kCompareNames - 2);
    painter.fillRect(head, r == 0 ? text_ground(theme) : theme.title_row);
    painter.setPen(theme.text);
    painter.setFont(ui_font(11.5, QFont::DemiBold));
    draw_text(painter, head.adjusted(6, 0, -24, 0), compared_->side(r) + "  " + compared_->label(r));
    painter.setFont(ui_font(11));
    painter.setPen(theme.secondary);
    draw_number(painter, head, tr("ms"));
    painter.setFont(ui_font(10.5));
    const double ticks = std::max(1.0, (side.scale.end - side.scale.begin) / 56);
    for (const double tick : nice_ticks(side.scale.full * 1e3, static_cast<int>(ticks))) {
      const double x = std::floor(side.scale.at(tick / 1e3)) + 0.5;
      painter.setPen(theme.grid);
      painter.drawLine(QPointF(x, CompareLayout::kHead), QPointF(x, bottom));
      painter.setPen(theme.secondary);
      const QString number = fixed_decimals(tick, tick != std::floor(tick) ? 1 : 0);
      draw_number(painter, QRectF(x - 30, kCompareNames, 60, CompareLayout::kHead - kCompareNames), number,
                  Qt::AlignHCenter | Qt::AlignVCenter);
    }
  }
  for (int t = 1; t < compared_->size(); ++t) {
    const auto& side = layout.differences[static_cast<std::size_t>(t - 1)];
    const QRectF head(side.left, 1, side.number_right - side.left, kCompareNames - 2);
    painter.setPen(theme.text);
    painter.setFont(ui_font(11.5, QFont::DemiBold));
    const QString name = compared_->size() == 2 ? tr("Target − Source") : tr("%1 − Source").arg(compared_->side(t));
    draw_text(painter, head.adjusted(0, 0, -24, 0), name);
    painter.setPen(theme.secondary);
    painter.setFont(ui_font(11));
    draw_number(painter, head, percent_ ? QString("%") : tr("ms"));
    const double zero = std::floor(side.scale.at(0)) + 0.5;
    const QRectF below(side.left, kCompareNames, side.number_right - side.left, CompareLayout::kHead - kCompareNames);
    painter.setFont(ui_font(10));
    const QString faster = tr("◂ faster"), slower = tr("slower ▸");
    painter.setPen(difference_color(theme, -1));
    draw_text(painter, below.adjusted(zero - below.left() + 4, 0, 0, 0), slower);
    // Where the zero stands too far left, the arrow to the right says enough.
    if (zero - below.left() > text_width(painter.font(), faster) + 5) {
      painter.setPen(difference_color(theme, 1));
      draw_text(painter, QRectF(below.left(), kCompareNames, zero - below.left() - 4, below.height()), faster,
                Qt::AlignRight | Qt::AlignVCenter);
    }
    painter.setPen(theme.secondary);
    painter.drawLine(QPointF(zero, CompareLayout::kHead), QPointF(zero, bottom));
  }
}

void CompareChart::paintRow(QPainter& painter, const CompareLayout& layout, int row) const {
  const Theme& theme = theme_of(this);
  const QRectF whole = layout.row(row);
  const bool total = isTotal(row);
  const QString name = cell(row, 0);
  const bool selected = !selectedTerm_.isEmpty() && name == selectedTerm_;
  if (selected) painter.fillRect(QRectF(0, whole.top(), 3, whole.height()), theme.accent);
  painter.setPen(theme.text);
  painter.setFont(number_font(total || selected));
  draw_text(painter, QRectF(kCompareMargin, whole.top(), layout.label_width, whole.height()), name);
  const Fill fill = fill_of_kind(model_.index(row, 0).data(kKindRole).toString().toStdString());
  for (int r = 0; r < compared_->size(); ++r) {
    draw_fill(painter, layout.bar(r, row), fill);
    painter.setPen(theme.text);
    painter.setFont(number_font(total || selected));
    const double right = layout.waterfalls[static_cast<std::size_t>(r)].number_right;
    draw_number(painter, QRectF(0, whole.top(), right, whole.height()), cell(row, columns_.ms(r)));
  }
  for (int t = 1; t < compared_->size(); ++t) {
    const QModelIndex index = model_.index(row, differenceColumn(t));
    const int better = index.data(kBetterRole).toInt();
    draw_fill(painter, layout.difference_bar(t, row), difference_fill(theme, better));
    painter.setPen(difference_color(theme, better));
    painter.setFont(number_font(total || selected));
    const double right = layout.differences[static_cast<std::size_t>(t - 1)].number_right;
    draw_number(painter, QRectF(0, whole.top(), right, whole.height()), index.data().toString());
  }
}

void CompareChart::paintEvent(QPaintEvent*) {
  const Theme& theme = theme_of(this);
  QPainter painter(this);
  const CompareLayout layout = layoutNow();
  if (layout.rows() == 0) {
    const bool one = !compared_ || compared_->empty();
    draw_empty(painter, theme, rect(),
               one ? tr("A comparison needs a second report: open one, or drop it on the window.")
                   : tr("None of the reports has a plan, so there is no time to compare."));
    return;
  }
  for (int row = 0; row < layout.rows(); ++row) {
    if (!selectedTerm_.isEmpty() && cell(row, 0) == selectedTerm_) painter.fillRect(layout.row(row), theme.accent_fill);
  }
  paintHeads(painter, layout);
  for (int row = 0; row < layout.rows(); ++row) paintRow(painter, layout, row);
  const double y = std::floor(layout.row(layout.rows() - 1).top()) + 0.5;
  painter.setPen(theme.secondary);
  painter.drawLine(QPointF(kCompareMargin, y), QPointF(width() - kCompareMargin, y));
}

QString CompareChart::tipText(int row) const {
  QString text = "<b>" + cell(row, 0).toHtmlEscaped() + "</b>";
  for (int r = 0; r < compared_->size(); ++r) {
    text += "<br>" + (compared_->side(r) + " " + compared_->label(r)).toHtmlEscaped() + ": " +
            cell(row, columns_.seconds(r)) + " s";
    if (r > 0) text += ", " + cell(row, columns_.difference(r)) + " ms, " + cell(row, columns_.percent(r)) + " %";
    if (r > 0 && isTotal(row) && !compared_->bandText(r).isEmpty()) text += "<br>" + compared_->bandText(r);
  }
  return text;
}

void CompareChart::mousePressEvent(QMouseEvent* event) {
  const int row = layoutNow().row_at(event->position().y());
  if (row >= 0 && !isTotal(row)) emit termClicked(cell(row, 0));
}

void CompareChart::keyPressEvent(QKeyEvent* event) {
  const int step = event->key() == Qt::Key_Down ? 1 : event->key() == Qt::Key_Up ? -1 : 0;
  const int terms = model_.rowCount() - 1;
  if (step == 0 || terms < 1) return QWidget::keyPressEvent(event);
  int row = step > 0 ? -1 : terms;
  for (int i = 0; i < terms; ++i) {
    if (cell(i, 0) == selectedTerm_) row = i;
  }
  const int next = std::clamp(row + step, 0, terms - 1);
  if (next != row) emit termClicked(cell(next, 0));
}

bool CompareChart::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip || model_.rowCount() == 0) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const int row = layoutNow().row_at(help->pos().y());
  if (row >= 0) {
    QToolTip::showText(help->globalPos(), tipText(row), this);
  } else {
    QToolTip::hideText();
  }
  return true;
}

}  // namespace superstep::gui
