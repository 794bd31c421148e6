// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/difference_bars.h"

#include <QPainter>
#include <algorithm>

#include "gui/paint/draw.h"

namespace superstep::gui {
namespace {

constexpr double kBarsMargin = 12;
constexpr double kBarsHead = 20;

QFont row_font(bool strong) { return ui_font(11.5, strong ? QFont::DemiBold : QFont::Normal); }

}  // namespace

DifferenceBars::DifferenceBars(const TableModel& model, QWidget* parent) : QWidget(parent), model_(model) {
  setObjectName("differenceBars");
  setAccessibleName(tr("Difference of the step time by cause"));
  connect(&model_, &QAbstractItemModel::modelReset, this, [this] {
    updateGeometry();
    update();
  });
}

QSize DifferenceBars::minimumSizeHint() const {
  return {300, static_cast<int>(kBarsHead + 14.0 * std::max(4, model_.rowCount()) + 8)};
}

DifferenceLayout DifferenceBars::layoutNow() const {
  double names = 0, numbers = 0;
  for (int row = 0; row < model_.rowCount(); ++row) {
    names = std::max(names, text_width(row_font(true), cell(row, 0)));
    numbers = std::max(numbers, number_width(row_font(true), cell(row, kWhatIfDifference)));
  }
  const double left = kBarsMargin + names + 12, right = width() - kBarsMargin - numbers - 10;
  const QRectF area(left, kBarsHead, std::max(20.0, right - left), height() - kBarsHead - 6);
  std::vector<double> differences;
  const auto ms = [&](int row) { return model_.index(row, kWhatIfDifference).data(kExactRole).toDouble(); };
  for (int row = 0; row + 1 < model_.rowCount(); ++row) differences.push_back(ms(row));
  return DifferenceLayout::of(area, differences, model_.rowCount() > 0 ? ms(model_.rowCount() - 1) : 0);
}

void DifferenceBars::paintEvent(QPaintEvent*) {
  const Theme& theme = theme_of(this);
  QPainter painter(this);
  if (model_.rowCount() == 0) {
    draw_empty(painter, theme, rect(),
               tr("Change a pin or a number at the left: the difference stands here, cause by cause."));
    return;
  }
  const DifferenceLayout layout = layoutNow();
  const double zero = std::floor(layout.scale.at(0)) + 0.5;
  painter.setFont(ui_font(11));
  painter.setPen(theme.secondary);
  draw_number(painter, QRectF(0, 1, width() - kBarsMargin, kBarsHead - 3), tr("ms"));
  draw_text(painter, QRectF(kBarsMargin, 1, width() - 60, kBarsHead - 3),
            tr("to the left faster, to the right slower"));
  painter.setPen(theme.frame);
  painter.drawLine(QPointF(zero, kBarsHead), QPointF(zero, kBarsHead + layout.rows() * layout.row_height));
  for (int row = 0; row < layout.rows(); ++row) {
    const bool total = row + 1 == layout.rows();
    const int better = model_.index(row, kWhatIfDifference).data(kBetterRole).toInt();
    const double top = kBarsHead + row * layout.row_height;
    painter.setFont(row_font(total));
    painter.setPen(theme.text);
    draw_text(painter, QRectF(kBarsMargin, top, layout.area.left() - kBarsMargin - 6, layout.row_height), cell(row, 0));
    draw_fill(painter, layout.bar(row), difference_fill(theme, better));
    painter.setPen(difference_color(theme, better));
    draw_number(painter,
                QRectF(layout.area.right(), top, width() - kBarsMargin - layout.area.right(), layout.row_height),
                cell(row, kWhatIfDifference));
  }
}

}  // namespace superstep::gui
