// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/time_controls.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QScrollArea>
#include <QToolButton>

#include "gui/base/theme.h"
#include "gui/widgets/time_chart.h"

namespace superstep::gui {

SegmentedButtons::SegmentedButtons(const QStringList& texts, const QString& name, QWidget* parent) : QWidget(parent) {
  setObjectName(name);
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(0);
  for (const QString& text : texts) {
    auto* button = new QToolButton;
    button->setText(text);
    button->setObjectName(name + text);
    button->setAccessibleName(text);
    button->setCheckable(true);
    button->setStyleSheet("QToolButton { border-radius: 0; }");
    const int number = static_cast<int>(buttons_.size());
    connect(button, &QToolButton::clicked, this, [this, number] {
      setCurrent(number);
      emit chosen(number);
    });
    buttons_.push_back(button);
    row->addWidget(button);
  }
}

void SegmentedButtons::setCurrent(int button) {
  for (std::size_t i = 0; i < buttons_.size(); ++i) buttons_[i]->setChecked(static_cast<int>(i) == button);
}

TimeUnitButtons::TimeUnitButtons(Session& session, QWidget* parent) : QWidget(parent) {
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(8);
  auto* caption = new QLabel(tr("Time"));
  caption->setFont(ui_font(11.5));
  auto* buttons = new SegmentedButtons({tr("ms"), tr("cycles")}, "timeUnit");
  row->addWidget(caption);
  row->addWidget(buttons);
  const auto show = [&session, buttons] { buttons->setCurrent(session.timeState().cycles ? 1 : 0); };
  connect(&session, &Session::timeStateChanged, buttons, show);
  connect(buttons, &SegmentedButtons::chosen, this, [&session](int button) {
    TimeState state = session.timeState();
    state.cycles = button == 1;
    session.setTimeState(state);
  });
  show();
}

QWidget* make_show_everything(TimeChart* chart) {
  auto* button = new QToolButton;
  button->setText(TimeChart::tr("Show everything"));
  button->setObjectName("showEverything");
  button->setAccessibleName(button->text());
  button->setToolTip(TimeChart::tr("The whole step (F)"));
  QObject::connect(button, &QToolButton::clicked, chart, &TimeChart::showEverything);
  return button;
}

QWidget* make_key_hint() {
  auto* hint = new QLabel(TimeChart::tr("W S zoom · A D pan · F fit · , . boxes · [ ] parts"));
  hint->setFont(ui_font(11));
  hint->setForegroundRole(QPalette::PlaceholderText);
  return hint;
}

QWidget* make_scrolling(TimeChart* chart) {
  auto* scroll = new QScrollArea;
  scroll->setWidgetResizable(true);
  scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setFocusPolicy(Qt::NoFocus);
  scroll->setWidget(chart);
  return scroll;
}

}  // namespace superstep::gui
