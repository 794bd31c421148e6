// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/side_bar.h"

#include <QMouseEvent>
#include <QPainter>
#include <QStyledItemDelegate>

#include "gui/base/theme.h"
#include "gui/paint/draw.h"
#include "gui/session/view.h"

namespace superstep::gui {
namespace {

constexpr int kSideBarRow = 20;
constexpr int kSideBarHead = 34;

class ViewDelegate : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    const Theme& theme = theme_of(option.widget);
    const bool current = option.state.testFlag(QStyle::State_Selected);
    const QRect r = option.rect;
    if (current) {
      painter->fillRect(r, theme.accent_fill);
      painter->fillRect(QRect(r.left(), r.top() + 4, 3, r.height() - 8), theme.accent);
    }
    const QColor color = current ? theme.accent : theme.secondary;
    const QPixmap icon =
        icon_pixmap(index.data(Qt::UserRole).toString(), color, 16, option.widget->devicePixelRatioF());
    painter->drawPixmap(r.left() + 13, r.center().y() - 7, icon);
    painter->setPen(current ? theme.accent : theme.text);
    painter->setFont(ui_font(12, current ? QFont::DemiBold : QFont::Normal));
    draw_text(*painter, QRectF(r).adjusted(35, 0, -20, 0), index.data().toString());
    painter->setPen(theme.faint);
    painter->setFont(ui_font(10.5));
    draw_number(*painter, QRectF(r).adjusted(0, 0, -11, 0), index.data(Qt::UserRole + 1).toString());
  }
  QSize sizeHint(const QStyleOptionViewItem&, const QModelIndex&) const override { return {156, 32}; }
};

}  // namespace

ViewList::ViewList(QWidget* parent) : QListWidget(parent) {
  setObjectName("viewList");
  setAccessibleName(tr("Views"));
  setFrameShape(QFrame::NoFrame);
  viewport()->setAutoFillBackground(false);
  setItemDelegate(new ViewDelegate(this));
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setFocusPolicy(Qt::TabFocus);
  for (const ViewDef& view : all_views()) {
    auto* item = new QListWidgetItem(view.title, this);
    item->setData(Qt::UserRole, view.id);
    item->setData(Qt::UserRole + 1, QKeySequence(view.shortcut).toString());
    item->setToolTip(view.question);
  }
}

SelectionCard::SelectionCard(Session& session, QWidget* parent) : QWidget(parent), session_(session) {
  setObjectName("selectionCard");
  setAccessibleName(tr("Selection"));
  setFixedHeight(kSideBarHead + 8 * kSideBarRow + 6);
  const auto refresh = [this] {
    QStringList lines;
    for (const Entry& entry : entries()) lines << entry.name + ": " + entry.value;
    setToolTip(lines.isEmpty() ? QString() : lines.join('\n') + tr("\nClick an entry to clear it"));
    update();
  };
  connect(&session, &Session::selectionChanged, this, refresh);
  connect(&session, &Session::reportChanged, this, refresh);
}

std::vector<SelectionCard::Entry> SelectionCard::entries() const {
  std::vector<Entry> out;
  const ReportPointer report = session_.report();
  if (!report) return out;
  const Selection& now = session_.selection();
  const auto add = [&](const QString& name, const QString& value, auto&& clear) {
    Selection without = now;
    clear(without);
    out.push_back({name, value, without});
  };
  if (now.ipu_class >= 0 && now.ipu_class < report->index().ipu_classes_size()) {
    add(tr("IPU"), QString::fromStdString(report->index().ipu_classes(now.ipu_class).name()),
        [](Selection& s) { s.ipu_class = -1; });
  }
  if (now.micro_batch >= 0) {
    add(tr("Batch"), grouped(now.micro_batch), [](Selection& s) { s.micro_batch = s.time = -1; });
  }
  if (!now.op.isEmpty()) add(tr("Op"), now.op, [](Selection& s) { s.op.clear(); });
  if (now.time >= 0) {
    add(tr("At"), milliseconds(session_.timeline()->seconds(now.time), 1) + " ms", [](Selection& s) { s.time = -1; });
  }
  if (now.tile >= 0) add(tr("Tile"), grouped(now.tile), [](Selection& s) { s.tile = -1; });
  const auto heat = session_.heat();
  if (now.phase >= 0 && now.phase < static_cast<int>(heat->phases.size())) {
    add(tr("Phase"), QString::fromStdString(heat->phases[static_cast<std::size_t>(now.phase)].name),
        [](Selection& s) { s.phase = -1; });
  }
  if (!now.term.isEmpty()) add(tr("Term"), now.term, [](Selection& s) { s.term.clear(); });
  if (!now.category.isEmpty()) add(tr("Memory"), now.category, [](Selection& s) { s.category.clear(); });
  return out;
}

void SelectionCard::paintEvent(QPaintEvent*) {
  const Theme& theme = theme_of(this);
  QPainter painter(this);
  painter.setPen(theme.frame);
  painter.drawLine(12, 0, width() - 12, 0);
  painter.setFont(ui_font(11.5, QFont::DemiBold));
  painter.setPen(theme.secondary);
  draw_text(painter, QRectF(14, 8, width() - 28, 20), tr("Selection"));
  const auto all = entries();
  painter.setFont(ui_font(11.5));
  if (all.empty()) {
    painter.setPen(theme.faint);
    painter.drawText(QRectF(14, kSideBarHead, width() - 28, 40), Qt::AlignTop | Qt::TextWordWrap,
                     tr("Click a bar, a tile or a term."));
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    const QRectF row(14, kSideBarHead + static_cast<double>(i) * kSideBarRow, width() - 28, kSideBarRow);
    painter.setPen(theme.secondary);
    painter.setFont(ui_font(11));
    draw_text(painter, row, all[i].name);
    painter.setPen(theme.text);
    painter.setFont(ui_font(11, QFont::Medium));
    draw_text(painter, row.adjusted(42, 0, 0, 0), all[i].value, Qt::AlignRight | Qt::AlignVCenter);
  }
}

void SelectionCard::mousePressEvent(QMouseEvent* event) {
  const auto all = entries();
  const auto row = static_cast<int>((event->position().y() - kSideBarHead) / kSideBarRow);
  if (event->position().y() >= kSideBarHead && row < static_cast<int>(all.size()))
    session_.select(all[static_cast<std::size_t>(row)].without);
}

}  // namespace superstep::gui
