// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/compare_headline.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <algorithm>
#include <cmath>

#include "gui/base/theme.h"

namespace superstep::gui {
namespace {

QLabel* label(double pixels, QFont::Weight weight, const char* name) {
  auto* out = new QLabel;
  out->setObjectName(name);
  out->setFont(ui_font(pixels, weight));
  out->setTextInteractionFlags(Qt::TextSelectableByMouse);
  return out;
}

}  // namespace

CompareHeadline::CompareHeadline(QWidget* parent)
    : QFrame(parent),
      sentence_(label(17, QFont::DemiBold, "compareSentence")),
      detail_(label(12, QFont::Normal, "compareDetail")),
      certainty_(label(12, QFont::DemiBold, "compareCertainty")),
      verdict_(label(12, QFont::Normal, "compareVerdict")) {
  for (QLabel* text : {sentence_, detail_}) text->setWordWrap(true);
  for (QLabel* text : {certainty_, verdict_}) text->setAlignment(Qt::AlignRight);
  auto* left = new QVBoxLayout;
  left->setSpacing(5);
  left->addWidget(sentence_);
  left->addWidget(detail_);
  auto* right = new QVBoxLayout;
  right->setSpacing(5);
  right->addWidget(certainty_);
  right->addWidget(verdict_);
  right->addStretch(1);
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(22, 11, 14, 11);
  layout->setSpacing(20);
  layout->addLayout(left, 1);
  layout->addLayout(right);
  recolor();
}

QString CompareHeadline::text() const { return sentence_->text(); }
QString CompareHeadline::detail() const { return detail_->text(); }
QString CompareHeadline::certainty() const { return certainty_->text(); }

void CompareHeadline::setComparison(const ComparedReports& compared) {
  QString sentence = tr("One report is open; a comparison needs two."), detail, certainty;
  better_ = 0;
  tie_ = false;
  if (compared.empty()) {
    detail = tr("Open another one with File > Open, or start with “superstep view A.ssr B.ssr”.");
  } else {
    sentence = for_viewer(compared.comparison.headline);
  }
  if (compared.size() == 2) {
    const auto speed = speed_change(compared.reports[1]->index(), compared.reports[0]->index());
    if (speed && speed->band) detail = speed_band_text(*speed->band) + ' ';
    detail += for_viewer(differences_sentence(compared.comparison, 1));
    const Sureness sure = sureness(compared);
    certainty = sure.text;
    tie_ = sure.tie;
    if (speed && !tie_) better_ = speed->change > 0 ? 1 : speed->change < 0 ? -1 : 0;
  }
  sentence_->setText(sentence);
  detail_->setText(detail);
  detail_->setVisible(!detail.isEmpty());
  certainty_->setText(certainty);
  certainty_->setVisible(!certainty.isEmpty());
  verdict_->setText(tie_ ? tr("a tie") : tr("not a tie"));
  verdict_->setVisible(!certainty.isEmpty());
  recolor();
}

void CompareHeadline::recolor() {
  const Theme& theme = theme_of(this);
  const auto color = [](QLabel* label, const QString& sheet) {
    if (label->styleSheet() != sheet) label->setStyleSheet(sheet);
  };
  color(sentence_, "color: " + theme.text.name());
  color(detail_, "color: " + theme.secondary.name());
  color(verdict_, "color: " + (tie_ ? theme.tight : theme.secondary).name());
  color(certainty_,
        QString("color: %1; background: %2; border-radius: 3px; padding: 1px 8px;")
            .arg((tie_ ? theme.tight : theme.text).name(), (tie_ ? theme.tight_fill : text_ground(theme)).name()));
  update();
}

void CompareHeadline::changeEvent(QEvent* event) {
  QFrame::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) recolor();
}

void CompareHeadline::paintEvent(QPaintEvent*) {
  const Theme& theme = theme_of(this);
  QPainter painter(this);
  painter.fillRect(rect(), theme.panel);
  painter.setPen(theme.frame);
  painter.drawRect(rect().adjusted(0, 0, -1, -1));
  painter.fillRect(QRect(0, 0, 5, height()), difference_fill(theme, better_).color);
}

}  // namespace superstep::gui
