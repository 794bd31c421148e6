// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/start_page.h"

#include <QFileInfo>
#include <QFontDatabase>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QVBoxLayout>

#include "gui/base/theme.h"
#include "gui/session/demo.h"

namespace superstep::gui {
namespace {

constexpr int kWidth = 460;

QLabel* wrapped(const QString& text) {
  auto* label = new QLabel(text);
  label->setWordWrap(true);
  return label;
}

QLabel* heading(const QString& text) {
  auto* label = new QLabel(text);
  label->setFont(ui_font(12, QFont::DemiBold));
  return label;
}

// A line that opens something, as wide as its text.
QPushButton* link(const QString& text, const QString& name) {
  auto* button = new QPushButton(text);
  button->setObjectName(name);
  button->setFlat(true);
  button->setCursor(Qt::PointingHandCursor);
  button->setStyleSheet(
      "QPushButton { border: 1px solid transparent; background: transparent; text-align: left; padding: 2px 0;"
      " color: palette(link); }"
      "QPushButton:hover { text-decoration: underline; }"
      "QPushButton:focus { border-color: palette(link); }");
  return button;
}

QVBoxLayout* list_in(QWidget* box, const QString& title) {
  auto* layout = new QVBoxLayout(box);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(2);
  layout->addWidget(heading(title));
  return layout;
}

}  // namespace

StartPage::StartPage(QWidget* parent) : QWidget(parent), recentBox_(new QWidget) {
  setObjectName("emptyPage");
  auto* title = new QLabel(tr("No report is open"));
  title->setFont(ui_font(20, QFont::DemiBold));
  auto* command = new QLabel("superstep plan JOB.json -o plan.ssr\nsuperstep view plan.ssr");
  command->setObjectName("emptyCommand");
  command->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
  command->setTextInteractionFlags(Qt::TextSelectableByMouse);
  command->setMargin(12);
  command->setFrameShape(QFrame::StyledPanel);
  auto* open = new QPushButton(tr("Open a report…"));
  open->setObjectName("emptyOpen");
  connect(open, &QPushButton::clicked, this, &StartPage::chooseRequested);
  recent_ = list_in(recentBox_, tr("Recent reports"));
  recentBox_->hide();
  auto* demo_box = new QWidget;
  QVBoxLayout* demo_list = list_in(demo_box, tr("Demos"));
  for (const Demo& demo : demos()) {
    QPushButton* button = link(demo.title, QString("demo_") + demo.id);
    connect(button, &QPushButton::clicked, this, [this, &demo] { emit demoRequested(demo); });
    demo_list->addWidget(button, 0, Qt::AlignLeft);
  }
  auto* column = new QWidget;
  column->setFixedWidth(kWidth);
  auto* layout = new QVBoxLayout(column);
  layout->setSpacing(14);
  layout->addWidget(title);
  layout->addWidget(
      wrapped(tr("A report is what the planner found out about a model on a machine. Write one, then "
                 "open it here or drop it on this window:")));
  layout->addWidget(command);
  layout->addWidget(open, 0, Qt::AlignLeft);
  layout->addWidget(recentBox_);
  layout->addWidget(demo_box);
  layout->addWidget(
      wrapped(tr("Jobs (.json) that are opened or dropped here are queued on the Batch page (B), which "
                 "plans them and opens their reports.")));
  auto* box = new QWidget;
  (new QVBoxLayout(box))->addWidget(column, 0, Qt::AlignCenter);
  auto* centre = new QScrollArea;  // small windows
  centre->setFrameShape(QFrame::NoFrame);
  centre->setWidget(box);
  centre->setWidgetResizable(true);
  auto* whole = new QVBoxLayout(this);
  whole->setContentsMargins(0, 0, 0, 0);
  whole->addWidget(centre);
}

void StartPage::setRecent(const QStringList& paths) {
  for (QPushButton* old : recentBox_->findChildren<QPushButton*>()) delete old;
  for (const QString& path : paths) {
    const QFileInfo file(path);
    QPushButton* button = link({}, "recentReport");
    const QString text = file.fileName() + "  –  " + file.absolutePath();
    button->setText(button->fontMetrics().elidedText(text, Qt::ElideMiddle, kWidth - 24).replace('&', "&&"));
    button->setToolTip(path);
    connect(button, &QPushButton::clicked, this, [this, path] { emit openRequested({path}); });
    recent_->addWidget(button, 0, Qt::AlignLeft);
  }
  recentBox_->setVisible(!paths.isEmpty());
}

}  // namespace superstep::gui
