// SPDX-License-Identifier: Apache-2.0
#include "gui/views/whatif.h"

#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QGraphicsOpacityEffect>
#include <QGridLayout>
#include <QJsonDocument>
#include <QLabel>
#include <QSlider>
#include <QToolButton>
#include <cmath>

#include "gui/theme.h"
#include "gui/widgets/chips.h"
#include "gui/widgets/data_table.h"
#include "gui/widgets/difference_bars.h"
#include "gui/widgets/panel.h"
#include "traces/text_table.h"

namespace superstep::gui {
namespace {

constexpr int kControlsWidth = 388;
constexpr int kFiguresHeight = 290;
constexpr int kSteps = 40;  // of a slider from a quarter to four times, the report's value in the middle

double factor_of(int step) { return std::pow(4, static_cast<double>(step) / (kSteps / 2)); }
int step_of(double factor) { return static_cast<int>(std::lround(std::log(factor) / std::log(4.0) * (kSteps / 2))); }

QLabel* group_head(const QString& text) {
  auto* label = new QLabel(text);
  label->setContentsMargins(0, 6, 0, 2);
  QFont font = ui_font(11.5, QFont::DemiBold);
  label->setFont(font);
  return label;
}

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
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(12, 12, 12, 12);
  layout->setSpacing(12);
  layout->addWidget(makeControls());
  layout->addWidget(makeDifference(), 1);
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
  changes_.plan = session_.trial();
  askAgain();
}

QWidget* WhatIfView::makeControls() {
  auto* page = new QWidget;
  auto* column = new QVBoxLayout(page);
  column->setContentsMargins(12, 6, 12, 12);
  auto* grid = new QGridLayout;
  grid->setHorizontalSpacing(10);
  grid->setVerticalSpacing(6);
  grid->setColumnStretch(1, 1);
  grid->addWidget(group_head(tr("Plan: pin, then search again")), 0, 0, 1, 3);
  for (std::size_t i = 0; i < whatif_pins().size(); ++i) addPin(grid, i);
  grid->addWidget(group_head(tr("Machine: cost the shown plan again")), grid->rowCount(), 0, 1, 3);
  for (std::size_t i = 0; i < whatif_numbers().size(); ++i) addNumber(grid, i);
  column->addLayout(grid);
  column->addWidget(makeButtons());
  column->addWidget(elapsed_);
  column->addStretch(1);
  auto* panel = new Panel(tr("What-if"));
  panel->setSubtitle(tr("changes to the report's job"));
  panel->setScrollingContent(page);
  panel->setFixedWidth(kControlsWidth);
  return panel;
}

void WhatIfView::addPin(QGridLayout* grid, std::size_t pin) {
  const WhatIfPin& p = whatif_pins()[pin];
  auto* name = new QLabel(tr(p.title));
  auto* box = new QComboBox;
  box->setObjectName(QString("pin_") + p.field);
  box->setAccessibleName(tr("Pin of %1").arg(tr(p.title)));
  name->setBuddy(box);
  box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  box->setMinimumContentsLength(12);
  const int row = grid->rowCount();
  grid->addWidget(name, row, 0);
  grid->addWidget(box, row, 1, 1, 2);
  connect(box, &QComboBox::currentIndexChanged, this, [this, pin] { pinChanged(pin); });
  pins_.push_back(box);
  pinNames_.push_back(name);
}

void WhatIfView::addNumber(QGridLayout* grid, std::size_t number) {
  const WhatIfNumber& n = whatif_numbers()[number];
  auto* name = new QLabel(tr(n.title));
  auto* slider = new QSlider(Qt::Horizontal);
  slider->setRange(-kSteps / 2, kSteps / 2);
  slider->setTickPosition(QSlider::TicksBelow);
  slider->setTickInterval(kSteps / 4);
  slider->setAccessibleName(tr("%1, from a quarter to four times").arg(tr(n.title)));
  auto* box = new QDoubleSpinBox;
  box->setObjectName(QString("number") + QString(n.pointer).replace('/', '_'));
  box->setAccessibleName(tr("%1 in %2").arg(tr(n.title), n.unit));
  box->setSuffix(QString(" ") + n.unit);
  box->setKeyboardTracking(false);
  box->setAlignment(Qt::AlignRight);
  const int row = grid->rowCount();
  grid->addWidget(name, row, 0);
  grid->addWidget(slider, row, 1);
  grid->addWidget(box, row, 2);
  // The box has the value; the slider is a way to reach it.
  connect(slider, &QSlider::valueChanged, this, [this, number](int step) {
    const ReportPointer report = session_.report();
    if (!report) return;
    numbers_[number].box->setValue(machine_number(report->index(), whatif_numbers()[number]) * factor_of(step));
  });
  connect(box, &QDoubleSpinBox::valueChanged, this, [this, number] { numberChanged(number); });
  numbers_.push_back({slider, box, name});
}

QWidget* WhatIfView::makeButtons() {
  auto* row = new QWidget;
  auto* layout = new QHBoxLayout(row);
  layout->setContentsMargins(0, 10, 0, 0);
  reset_ = button(tr("Reset"), "whatifReset", tr("Take back all changes"));
  copy_ = button(tr("Copy pins"), "whatifCopyPins", tr("Copy the pins as the plan of a job"));
  connect(reset_, &QToolButton::clicked, this, &WhatIfView::rebuild);
  connect(copy_, &QToolButton::clicked, this, &WhatIfView::copyPins);
  elapsed_ = new ElidedLabel;  // what the child is at can be long
  elapsed_->setObjectName("elapsed");
  layout->addWidget(reset_);
  layout->addWidget(copy_);
  layout->addStretch(1);
  return row;
}

QWidget* WhatIfView::makeDifference() {
  headline_ = new QLabel;
  headline_->setObjectName("whatifHeadline");
  headline_->setFont(ui_font(18, QFont::DemiBold));
  headline_->setWordWrap(true);
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
  changes_ = {};
  fillControls();
  showAnswer(nullptr, -1);
}

void WhatIfView::fillControls() {
  const ReportPointer report = session_.report();
  const bool known = report && !whatif_request(report->index(), {{{"replicas", 1}}, {}}).isEmpty();
  for (std::size_t i = 0; i < pins_.size(); ++i) {
    const WhatIfPin& pin = whatif_pins()[i];
    const QSignalBlocker quiet(pins_[i]);
    pins_[i]->clear();
    const QString shown = report ? shown_pin(report->index(), pin.field) : QString();
    pins_[i]->addItem(shown.isEmpty() ? tr("as the job") : tr("as the job (shown: %1)").arg(shown));
    for (const QJsonValue& value : pin.values) pins_[i]->addItem(pin_text(value));
    pins_[i]->setEnabled(known);
  }
  for (std::size_t i = 0; i < numbers_.size(); ++i) {
    const double value = report ? machine_number(report->index(), whatif_numbers()[i]) : 0;
    const Number& n = numbers_[i];
    const QSignalBlocker quiet_slider(n.slider), quiet_box(n.box);
    n.box->setRange(value / 4, std::max(value * 4, 1e-3));
    n.box->setDecimals(value < 100 ? 2 : 0);
    n.box->setValue(value);
    n.slider->setValue(0);
    const bool usable = known && value > 0;
    n.box->setEnabled(usable);
    n.slider->setEnabled(usable);
    n.name->setToolTip(usable ? QString() : tr("Nothing in this report depends on it."));
  }
  reset_->setEnabled(known);
  markChanges();
}

void WhatIfView::pinChanged(std::size_t pin) {
  const WhatIfPin& p = whatif_pins()[pin];
  const int chosen = pins_[pin]->currentIndex();
  changes_.plan.clear();  // a search has its own
  if (chosen <= 0) {
    changes_.pins.erase(p.field);
  } else {
    changes_.pins[p.field] = p.values[static_cast<std::size_t>(chosen - 1)];
  }
  askAgain();
}

void WhatIfView::numberChanged(std::size_t number) {
  const ReportPointer report = session_.report();
  if (!report) return;
  const WhatIfNumber& n = whatif_numbers()[number];
  const double before = machine_number(report->index(), n), now = numbers_[number].box->value();
  if (std::abs(now - before) < 0.005) {
    changes_.machine.erase(n.pointer);
  } else {
    changes_.machine[n.pointer] = now;
  }
  const QSignalBlocker quiet(numbers_[number].slider);
  if (before > 0 && now > 0) numbers_[number].slider->setValue(step_of(now / before));
  askAgain();
}

void WhatIfView::askAgain() {
  markChanges();
  const ReportPointer report = session_.report();
  if (!report) return;
  if (changes_.empty()) {
    client_.forget();
    return showAnswer(nullptr, -1);
  }
  const QJsonObject request = whatif_request(report->index(), changes_);
  if (request.isEmpty()) return showMessage(tr("The report has no plan whose cost could be estimated again."), true);
  client_.ask(request);
}

void WhatIfView::showAnswer(AnswerPointer answer, double ms) {
  const ReportPointer report = session_.report();
  answer_ = std::move(answer);
  dim_->setEnabled(false);
  figures_.setContents(whatif_figures(report, answer_, session_.units()));
  terms_.setContents(whatif_terms(report, answer_));
  figuresView_->fitColumns();
  termsView_->fitColumns();
  elapsed_->setText(ms < 0 ? QString() : tr("%1 ms").arg(grouped(std::llround(ms))));
  headline_->setVisible(answer_ != nullptr);
  showMessage("", false);
  if (answer_) {
    const report::PlanSummary& now = answer_->plan();
    const report::PlanSummary& shown = report->index().plan();
    const double difference = now.samples_per_second() - shown.samples_per_second();
    const QString by = for_viewer((difference > 0 ? "+" : "") + figure(difference));
    const double percent = shown.samples_per_second() > 0 ? difference / shown.samples_per_second() * 100 : 0;
    headline_->setText(tr("%1 samples/s (%2 %)").arg(by, (percent > 0 ? "+" : "") + fixed_decimals(percent, 1)));
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

// What is changed stands out by weight and colour.
void WhatIfView::markChanges() {
  const auto mark = [this](QLabel* name, bool changed) {
    const QString color = (changed ? theme_of(this).tight : theme_of(this).text).name();
    name->setStyleSheet(QString("color: %1; font-weight: %2").arg(color).arg(changed ? 600 : 400));
  };
  for (std::size_t i = 0; i < pins_.size(); ++i) mark(pinNames_[i], changes_.pins.contains(whatif_pins()[i].field));
  for (std::size_t i = 0; i < numbers_.size(); ++i) {
    mark(numbers_[i].name, changes_.machine.contains(whatif_numbers()[i].pointer));
  }
  copy_->setEnabled(!changes_.pins.empty());
}

void WhatIfView::copyPins() {
  const QJsonObject pins = whatif_job_pins(session_.report()->index(), changes_);
  QApplication::clipboard()->setText(QString::fromUtf8(QJsonDocument(pins).toJson(QJsonDocument::Indented)));
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
