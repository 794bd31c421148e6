// SPDX-License-Identifier: Apache-2.0
#include "gui/views/whatif.h"

#include <QApplication>
#include <QBoxLayout>
#include <QClipboard>
#include <QDir>
#include <QFileInfo>
#include <QGraphicsOpacityEffect>
#include <QJsonDocument>
#include <QLabel>
#include <QScrollArea>
#include <QTemporaryFile>
#include <QToolButton>
#include <cmath>

#include "gui/base/theme.h"
#include "gui/batch/queue.h"
#include "gui/widgets/chips.h"
#include "gui/widgets/data_table.h"
#include "gui/widgets/difference_bars.h"
#include "gui/widgets/panel.h"
#include "gui/widgets/whatif_controls.h"
#include "traces/text_table.h"

namespace superstep::gui {
namespace {

constexpr int kControlsWidth = 388;
constexpr int kDockedWidth = 352;
constexpr int kDockedControls = 250;
constexpr int kBandColumn = 4;  // of the figures
constexpr int kFiguresHeight = 290;

QToolButton* button(const QString& text, const char* name, const QString& tip) {
  auto* out = new QToolButton;
  out->setText(text);
  out->setObjectName(name);
  out->setAccessibleName(tip);
  out->setToolTip(tip);
  out->setFocusPolicy(Qt::StrongFocus);
  return out;
}

}  // namespace

WhatIfView::WhatIfView(Session& session, QWidget* parent) : View(parent), session_(session) {
  layout_ = new QHBoxLayout(this);
  layout_->setContentsMargins(12, 12, 12, 12);
  layout_->setSpacing(12);
  layout_->addWidget(makeControls());
  layout_->addWidget(makeDifference(), 1);
  connectClient();
  connect(&session_, &Session::reportChanged, this, &WhatIfView::rebuild);
  connect(&session_, &Session::unitsChanged, this, [this] {
    figures_.setContents(whatif_figures(session_.report(), answer_, session_.units()));
    emit statusChanged();
  });
  connect(&session_, &Session::trialChanged, this, &WhatIfView::takeTrial);
  rebuild();
  if (!session_.trial().empty()) takeTrial();
}

// A plan of the landscape: costed in place of the shown one.
void WhatIfView::takeTrial() {
  rebuild();
  controls_->setPlan(session_.trial());
}

const WhatIf& WhatIfView::changes() const { return controls_->changes(); }

void WhatIfView::setDocked(bool docked) {
  const int margin = docked ? 6 : 12;
  layout_->setDirection(docked ? QBoxLayout::TopToBottom : QBoxLayout::LeftToRight);
  layout_->setContentsMargins(margin, margin, margin, margin);
  layout_->setSpacing(margin);
  layout_->setStretch(0, docked ? 1 : 0);
  layout_->setStretch(1, 1);
  controlsPanel_->setMinimumHeight(docked ? kDockedControls : 0);
  docked_ = docked;
  figuresView_->setColumnHidden(kBandColumn, docked);  // the sentence above has the one that matters
  controlsPanel_->setMinimumWidth(docked ? kDockedWidth : kControlsWidth);
  controlsPanel_->setMaximumWidth(docked ? QWIDGETSIZE_MAX : kControlsWidth);
  difference_->setMaximumHeight(docked ? QWIDGETSIZE_MAX : kFiguresHeight);
}

QWidget* WhatIfView::makeControls() {
  controls_ = new WhatIfControls;
  connect(controls_, &WhatIfControls::changed, this, &WhatIfView::askAgain);
  auto* scroll = new QScrollArea;
  scroll->setWidgetResizable(true);
  scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setWidget(controls_);
  controls_->setAutoFillBackground(false);  // which setWidget() has set
  scroll->viewport()->setAutoFillBackground(false);
  auto* page = new QWidget;
  auto* column = new QVBoxLayout(page);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(scroll, 1);
  column->addWidget(makeButtons());
  controlsPanel_ = new Panel(tr("What-if"));
  controlsPanel_->setSubtitle(tr("changes to the report's job"));
  controlsPanel_->setContent(page);
  controlsPanel_->setFixedWidth(kControlsWidth);
  return controlsPanel_;
}

QWidget* WhatIfView::makeButtons() {
  auto* row = new QWidget;
  auto* layout = new QHBoxLayout(row);
  layout->setContentsMargins(12, 6, 12, 10);
  reset_ = button(tr("Reset"), "whatifReset", tr("Take back all changes"));
  copy_ = button(tr("Copy pins"), "whatifCopyPins", tr("Copy the pins as the plan of a job"));
  connect(reset_, &QToolButton::clicked, this, &WhatIfView::rebuild);
  connect(copy_, &QToolButton::clicked, this, &WhatIfView::copyPins);
  open_ = button(tr("Plan it"), "whatifOpen", tr("Plan the changed job in the batch, to open its report"));
  connect(open_, &QToolButton::clicked, this, &WhatIfView::openAsPlan);
  elapsed_ = new ElidedLabel;  // what the child is at can be long
  elapsed_->setObjectName("elapsed");
  elapsed_->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
  layout->addWidget(reset_);
  layout->addWidget(copy_);
  layout->addWidget(open_);
  layout->addWidget(elapsed_, 1);
  return row;
}

QWidget* WhatIfView::makeDifference() {
  headline_ = new QLabel;
  headline_->setObjectName("whatifHeadline");
  headline_->setFont(ui_font(18, QFont::DemiBold));
  headline_->setWordWrap(true);
  certainty_ = new QLabel;
  certainty_->setObjectName("whatifCertainty");
  certainty_->setWordWrap(true);
  message_ = new QLabel;
  message_->setObjectName("whatifMessage");
  message_->setWordWrap(true);
  restart_ = button(tr("Restart"), "whatifRestart", tr("Start the child process again and ask again"));
  connect(restart_, &QToolButton::clicked, this, [this] {
    showMessage("", false);
    client_.restart();
  });
  figuresView_ = new DataTable(&figures_);
  figuresView_->setObjectName("whatifFigures");
  figuresView_->setAccessibleName(tr("Shown plan and what-if"));
  figuresView_->setEmptyText(tr("No answer yet."));
  auto* answer = new QWidget;
  auto* answer_layout = new QVBoxLayout(answer);
  answer_layout->setContentsMargins(0, 0, 0, 0);
  answer_layout->setSpacing(12);
  auto* head = new QWidget;
  auto* head_layout = new QVBoxLayout(head);
  head_layout->setContentsMargins(12, 8, 12, 8);
  auto* said = new QHBoxLayout;
  said->addWidget(message_, 1);
  said->addWidget(restart_, 0, Qt::AlignTop);
  head_layout->addWidget(headline_);
  head_layout->addWidget(certainty_);
  head_layout->addLayout(said);
  auto* figures = new QWidget;
  auto* figures_layout = new QVBoxLayout(figures);
  figures_layout->setContentsMargins(0, 0, 0, 0);
  figures_layout->addWidget(head);
  figures_layout->addWidget(figuresView_, 1);
  difference_ = new Panel(tr("Difference"));
  difference_->setSubtitle(tr("what-if less shown"));
  difference_->setContent(figures);
  difference_->setMaximumHeight(kFiguresHeight);
  auto* causes = new Panel(tr("Step time by cause"));
  causes->setScrollingContent(new DifferenceBars(terms_));
  termsView_ = new DataTable(&terms_);
  causes->setTable(termsView_);
  togetherView_ = new DataTable(&together_);
  togetherView_->setObjectName("whatifTogether");
  togetherView_->setAccessibleName(tr("Changes together, beside the sum of what each gains"));
  togetherView_->setWideColumn(0, 140);
  togetherPanel_ = new Panel(tr("Changes together"));
  togetherPanel_->setSubtitle(tr("samples/s, against the shown plan"));
  togetherPanel_->setContent(togetherView_);
  togetherPanel_->hide();
  answer_layout->addWidget(togetherPanel_);
  answer_layout->addWidget(difference_, 45);
  answer_layout->addWidget(causes, 55);
  dim_ = new QGraphicsOpacityEffect(answer);
  dim_->setOpacity(0.45);
  dim_->setEnabled(false);
  answer->setGraphicsEffect(dim_);
  return answer;
}

void WhatIfView::connectClient() {
  connect(&client_, &ServeClient::waitingChanged, this, [this](bool waiting) {
    dim_->setEnabled(waiting && answer_);
    if (waiting) elapsed_->setText(tr("asking…"));
    emit statusChanged();
  });
  connect(&client_, &ServeClient::progressed, this, [this](double share, const QString& what) {
    elapsed_->setText(QString("%1 %2 %").arg(what).arg(static_cast<int>(share * 100)));
  });
  connect(&client_, &ServeClient::answered, this,
          [this](const QJsonObject& answer, double ms) { showAnswer(whatif_answer(answer), ms); });
  connect(&client_, &ServeClient::refused, this, [this](const QString& message, double ms) {
    showAnswer(nullptr, ms);
    showMessage(for_viewer(message.toStdString()), true);
  });
  connect(&client_, &ServeClient::failed, this, [this](const QString& message) {
    elapsed_->clear();
    showMessage(message, true, true);
  });
}

void WhatIfView::rebuild() {
  client_.forget();
  const ReportPointer report = session_.report();
  controls_->setReport(report);
  reset_->setEnabled(report && !report->index().job_json().empty());
  copy_->setEnabled(false);
  open_->setEnabled(false);
  inputs_.setContents(whatif_inputs(report, {}));
  showAnswer(nullptr, -1);
}

void WhatIfView::askAgain() {
  const ReportPointer report = session_.report();
  if (!report) return;
  copy_->setEnabled(!changes().pins.empty());
  open_->setEnabled(!changes().empty());
  inputs_.setContents(whatif_inputs(report, changes()));
  if (changes().empty()) {
    client_.forget();
    return showAnswer(nullptr, -1);
  }
  const QJsonObject request = whatif_request(report->index(), changes());
  if (request.isEmpty()) return showMessage(tr("The report has no plan whose cost could be estimated again."), true);
  showTogether();
  client_.ask(request);
}

void WhatIfView::showAnswer(AnswerPointer answer, double ms) {
  const ReportPointer report = session_.report();
  answer_ = std::move(answer);
  dim_->setEnabled(false);
  figures_.setContents(whatif_figures(report, answer_, session_.units()));
  terms_.setContents(whatif_terms(report, answer_));
  showTogether();
  figuresView_->setColumnHidden(kBandColumn, docked_);
  figuresView_->fitColumns();
  termsView_->fitColumns();
  elapsed_->setText(ms < 0 ? QString() : tr("%1 ms").arg(grouped(std::llround(ms))));
  headline_->setVisible(answer_ != nullptr);
  certainty_->setVisible(answer_ != nullptr);
  showMessage("", false);
  if (answer_) {
    const report::PlanSummary& now = answer_->plan();
    const WhatIfVerdict verdict = whatif_verdict(report->index(), *answer_);
    headline_->setText(verdict.change);
    certainty_->setText(verdict.certainty.isEmpty() ? verdict.band : verdict.certainty + " · " + verdict.band);
    const Theme& theme = theme_of(this);
    certainty_->setStyleSheet(QString("color: %1").arg((verdict.tie ? theme.tight : theme.secondary).name()));
    showMessage(tr("%1: %2 %3").arg(QString::fromStdString(now.label()), fit_sign(fit_of(now)), fit_words(fit_of(now))),
                fit_of(now) == Fit::does_not_fit);
  } else if (ms >= 0) {
    showMessage(tr("The answer has no plan."), true);
  } else if (!report || report->index().job_json().empty()) {
    showMessage(tr("Open a report of a job: a report without one cannot be changed."), false);
  } else {
    showMessage(tr("Nothing is changed yet. Pins search again, which takes seconds; machine numbers cost the plan "
                   "that is shown again."),
                false);
  }
  emit statusChanged();
}

void WhatIfView::showMessage(const QString& text, bool bad, bool can_restart) {
  const Theme& theme = theme_of(this);
  message_->setText(text);
  message_->setVisible(!text.isEmpty());
  message_->setStyleSheet(QString("color: %1").arg((bad ? theme.over : theme.secondary).name()));
  restart_->setVisible(can_restart);
}

void WhatIfView::copyPins() {
  const QJsonObject pins = whatif_job_pins(session_.report()->index(), changes());
  QApplication::clipboard()->setText(QString::fromUtf8(QJsonDocument(pins).toJson(QJsonDocument::Indented)));
}

void WhatIfView::openAsPlan() {
  const ReportPointer report = session_.report();
  const QJsonObject job = whatif_request(report->index(), changes())["job"].toObject();
  const QString name = QFileInfo(QString::fromStdString(report->path().string())).completeBaseName();
  QTemporaryFile file(QDir::tempPath() + '/' + name + "-whatif-XXXXXX.json");
  file.setAutoRemove(false);  // the queue reads it whenever its turn is
  if (!file.open() || file.write(QJsonDocument(job).toJson()) < 0)
    return showMessage(tr("%1 cannot be written: %2").arg(file.fileName(), file.errorString()), true);
  const QString path = file.fileName();
  file.close();
  if (const QString left_out = session_.batch().addAll({path}); !left_out.isEmpty()) return showMessage(left_out, true);
  session_.batch().run();
  emit viewWanted("batch");
}

// While the plan that is tried is that of the chosen changes, and nothing else is changed.
void WhatIfView::showTogether() {
  const bool shown = session_.trialChanges().size() > 1 && changes().pins.empty() && changes().machine.empty() &&
                     !changes().plan.empty() && changes().plan == session_.trial();
  together_.setContents(shown ? whatif_together(session_.report(), session_.trialChanges(), answer_) : TableContents{});
  togetherView_->fitColumns();
  togetherPanel_->setVisible(shown);
  constexpr int kRow = 24, kHeading = 28;
  togetherPanel_->setFixedHeight(Panel::kTitleHeight + kHeading + kRow * together_.rowCount() + 6);
}

QString WhatIfView::statusText() const {
  return client_.isWaiting() ? tr("All numbers are estimated · the child process is computing")
                             : tr("All numbers are estimated · answers come from superstep serve");
}

QString WhatIfView::unitsText() const { return tr("units %1, ms").arg(unit_name(session_.units())); }

QModelIndex WhatIfView::valueAt(QWidget* chart, const QPointF& at) {
  const auto* bars = qobject_cast<DifferenceBars*>(chart);
  if (!bars) return {};
  constexpr int kDifference = 3;  // column
  const DifferenceLayout layout = bars->layoutNow();
  const int row = static_cast<int>(std::floor((at.y() - layout.area.top()) / layout.row_height));
  return row >= 0 && row < layout.rows() ? terms_.index(row, kDifference) : QModelIndex();
}

}  // namespace superstep::gui
