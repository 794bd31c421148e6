// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/whatif_controls.h"

#include <QComboBox>
#include <QDoubleSpinBox>
#include <QGridLayout>
#include <QLabel>
#include <QLineEdit>
#include <QSlider>
#include <QToolButton>
#include <QVBoxLayout>
#include <cmath>

#include "gui/base/theme.h"

namespace superstep::gui {
namespace {

constexpr int kSteps = 40;       // of a slider from a quarter to four times, the report's value in the middle
constexpr int kNameWidth = 116;  // longer names take two lines
constexpr int kBoxWidth = 104;

double factor_of(int step) { return std::pow(4, static_cast<double>(step) / (kSteps / 2)); }
int step_of(double factor) { return static_cast<int>(std::lround(std::log(factor) / std::log(4.0) * (kSteps / 2))); }

QLabel* group_head(const QString& text) {
  auto* label = new QLabel(text);
  label->setContentsMargins(0, 6, 0, 2);
  label->setFont(ui_font(11.5, QFont::DemiBold));
  return label;
}

QLabel* name_label(const QString& text) {
  auto* label = new QLabel(text);
  label->setWordWrap(true);
  label->setFixedWidth(kNameWidth);
  return label;
}

QGridLayout* grid_of(QWidget* page) {
  auto* grid = page ? new QGridLayout(page) : new QGridLayout;
  grid->setContentsMargins(0, 0, 0, 0);
  grid->setHorizontalSpacing(8);
  grid->setVerticalSpacing(6);
  grid->setColumnStretch(1, 1);
  return grid;
}

}  // namespace

WhatIfControls::WhatIfControls(QWidget* parent) : QWidget(parent), column_(new QVBoxLayout(this)) {
  column_->setContentsMargins(12, 6, 12, 12);
  makePins(column_);
  makeNumbers();
  column_->addStretch(1);
}

QGridLayout* WhatIfControls::addSection(QVBoxLayout* column, const QString& title) {
  column->addWidget(group_head(title));
  QGridLayout* grid = grid_of(nullptr);
  column->addLayout(grid);
  return grid;
}

QGridLayout* WhatIfControls::addFolded(QVBoxLayout* column, const QString& title, const char* name) {
  auto* fold = new QToolButton;
  fold->setObjectName(name);
  fold->setText(title);
  fold->setCheckable(true);
  fold->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
  fold->setArrowType(Qt::RightArrow);
  fold->setFocusPolicy(Qt::StrongFocus);
  fold->setAccessibleName(title);
  auto* page = new QWidget;
  page->hide();
  connect(fold, &QToolButton::toggled, page, [fold, page](bool open) {
    fold->setArrowType(open ? Qt::DownArrow : Qt::RightArrow);
    page->setVisible(open);
  });
  column->addWidget(fold, 0, Qt::AlignLeft);
  column->addWidget(page);
  return grid_of(page);
}

void WhatIfControls::makePins(QVBoxLayout* column) {
  QGridLayout* grid = addSection(column, tr("Plan: pin, then search again"));
  QString group;
  for (std::size_t i = 0; i < whatif_pins().size(); ++i) {
    const WhatIfPin& pin = whatif_pins()[i];
    if (group.isEmpty() && !pin.group.isEmpty()) grid = addFolded(column, tr("More fields of the plan"), "morePins");
    if (pin.group != group && pin.group != "Plan") grid->addWidget(group_head(pin.group), grid->rowCount(), 0, 1, 3);
    group = pin.group;
    addPin(grid, i);
  }
}

void WhatIfControls::addPin(QGridLayout* grid, std::size_t pin) {
  const WhatIfPin& p = whatif_pins()[pin];
  QLabel* name = name_label(p.title);
  name->setToolTip(p.what);
  auto* box = new QComboBox;
  box->setObjectName("pin_" + QString(p.field).replace('/', '_'));
  box->setAccessibleName(
      tr("Pin of %1").arg(p.group.isEmpty() || p.group == "Plan" ? p.title : p.group + ", " + p.title));
  box->setToolTip(p.what);
  name->setBuddy(box);
  box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  box->setMinimumContentsLength(12);
  const int row = grid->rowCount();
  grid->addWidget(name, row, 0);
  grid->addWidget(box, row, 1, 1, 2);
  connect(box, &QComboBox::currentIndexChanged, this, [this, pin](int chosen) {
    const std::vector<QJsonValue>& values = whatif_pins()[pin].values;
    if (chosen == 0) setPin(pin, QJsonValue::Undefined);
    if (chosen > 0) setPin(pin, values[static_cast<std::size_t>(chosen - 1)]);
  });
  if (p.open) {
    box->setEditable(true);
    box->setInsertPolicy(QComboBox::NoInsert);
    box->setCompleter(nullptr);
    connect(box->lineEdit(), &QLineEdit::editingFinished, this, [this, pin, box] {
      const QString typed = box->currentText();
      if (box->currentIndex() >= 0 && typed == box->itemText(box->currentIndex())) return;  // it was chosen
      const QJsonValue value = pin_value(typed);
      const QSignalBlocker quiet(box);
      box->setCurrentIndex(value.isNull() ? 0 : -1);  // so that the list can take it back
      if (!value.isNull()) box->setEditText(typed);
      const auto known = changes_.pins.find(whatif_pins()[pin].field);
      const bool as_before = known == changes_.pins.end() ? value.isNull() : known->second == value;
      if (!as_before) setPin(pin, value.isNull() ? QJsonValue(QJsonValue::Undefined) : value);
    });
  }
  pins_.push_back({box, name});
}

void WhatIfControls::makeNumbers() {
  numbers_.clear();
  delete numbersPage_;
  numbersPage_ = new QWidget;
  auto* column = new QVBoxLayout(numbersPage_);
  column->setContentsMargins(0, 0, 0, 0);
  QGridLayout* grid = addSection(column, tr("Machine: cost the shown plan again"));
  bool folded = false;
  for (std::size_t i = 0; i < offered_.size(); ++i) {
    if (!offered_[i].main && !folded) grid = addFolded(column, tr("More numbers of the machine"), "moreNumbers");
    folded = folded || !offered_[i].main;
    addNumber(grid, i);
  }
  if (offered_.empty()) column->addWidget(new QLabel(tr("The report names no numbers of its machine.")));
  column_->insertWidget(column_->count() > 3 ? column_->count() - 1 : column_->count(), numbersPage_);
}

void WhatIfControls::addNumber(QGridLayout* grid, std::size_t number) {
  const WhatIfNumber& n = offered_[number];
  QLabel* name = name_label(n.title);
  auto* slider = new QSlider(Qt::Horizontal);
  slider->setRange(-kSteps / 2, kSteps / 2);
  slider->setTickPosition(QSlider::TicksBelow);
  slider->setTickInterval(kSteps / 4);
  slider->setAccessibleName(tr("%1, from a quarter to four times").arg(n.title));
  auto* box = new QDoubleSpinBox;
  box->setObjectName("number" + QString(n.pointer).replace('/', '_'));
  box->setAccessibleName(n.unit.isEmpty() ? n.title : tr("%1 in %2").arg(n.title, n.unit));
  if (!n.unit.isEmpty()) box->setSuffix(' ' + n.unit);
  box->setKeyboardTracking(false);
  box->setAlignment(Qt::AlignRight);
  box->setMinimumWidth(kBoxWidth);
  for (QWidget* part : {static_cast<QWidget*>(name), static_cast<QWidget*>(slider), static_cast<QWidget*>(box)})
    part->setToolTip(n.what);
  const int row = grid->rowCount();
  grid->addWidget(name, row, 0);
  grid->addWidget(slider, row, 1);
  grid->addWidget(box, row, 2);
  // The box has the value; the slider is a way to reach it.
  connect(slider, &QSlider::valueChanged, this,
          [this, number](int step) { numbers_[number].box->setValue(offered_[number].value * factor_of(step)); });
  connect(box, &QDoubleSpinBox::valueChanged, this, [this, number] { numberChanged(number); });
  numbers_.push_back({slider, box, name});
}

void WhatIfControls::setReport(const ReportPointer& report) {
  report_ = report;
  changes_ = {};
  const auto same = [](const WhatIfNumber& a, const WhatIfNumber& b) {
    return a.pointer == b.pointer && a.unit == b.unit;
  };
  std::vector<WhatIfNumber> numbers = report ? whatif_numbers(report->index()) : std::vector<WhatIfNumber>{};
  const bool as_before = std::equal(numbers.begin(), numbers.end(), offered_.begin(), offered_.end(), same);
  offered_ = std::move(numbers);
  if (!as_before) makeNumbers();
  fillPins();
  fillNumbers();
  markChanges();
}

void WhatIfControls::setPlan(const std::string& plan_json) {
  changes_.plan = plan_json;
  emit changed();
}

void WhatIfControls::fillPins() {
  const bool known = report_ && !report_->index().job_json().empty();
  for (std::size_t i = 0; i < pins_.size(); ++i) {
    const WhatIfPin& pin = whatif_pins()[i];
    QComboBox* box = pins_[i].box;
    const QSignalBlocker quiet(box);
    box->clear();
    const QString shown = report_ ? shown_pin(report_->index(), pin.field) : QString();
    box->addItem(shown.isEmpty() ? tr("as the job") : tr("as the job (shown: %1)").arg(shown));
    for (const QJsonValue& value : pin.values) box->addItem(pin_text(value));
    box->setCurrentIndex(0);
    box->setEnabled(known);
    if (box->lineEdit()) box->lineEdit()->setCursorPosition(0);
  }
}

void WhatIfControls::fillNumbers() {
  const bool known = report_ && !report_->index().job_json().empty();
  for (std::size_t i = 0; i < numbers_.size(); ++i) {
    const WhatIfNumber& offered = offered_[i];
    const Number& n = numbers_[i];
    const QSignalBlocker quiet_slider(n.slider), quiet_box(n.box);
    n.box->setDecimals(offered.decimals);
    n.box->setRange(offered.least, offered.most);
    n.box->setSingleStep(offered.decimals == 0 ? std::max(1.0, std::round(offered.value / 20)) : offered.value / 20);
    n.box->setValue(offered.value);
    n.slider->setValue(0);
    n.box->setEnabled(known);
    n.slider->setEnabled(known);
  }
}

void WhatIfControls::setPin(std::size_t pin, const QJsonValue& value) {
  const WhatIfPin& p = whatif_pins()[pin];
  changes_.plan.clear();  // a search has its own
  if (value.isUndefined()) {
    changes_.pins.erase(p.field);
  } else {
    changes_.pins[p.field] = value;
  }
  markChanges();
  emit changed();
}

void WhatIfControls::numberChanged(std::size_t number) {
  const WhatIfNumber& n = offered_[number];
  const double now = numbers_[number].box->value();
  if (std::abs(now - n.value) < 0.5 * std::pow(10, -n.decimals)) {
    changes_.machine.erase(n.pointer);
  } else {
    changes_.machine[n.pointer] = now;
  }
  const QSignalBlocker quiet(numbers_[number].slider);
  if (n.value > 0) numbers_[number].slider->setValue(step_of(now / n.value));
  markChanges();
  emit changed();
}

// What is changed stands out by weight and colour.
void WhatIfControls::markChanges() {
  const auto mark = [this](QLabel* name, bool is_changed) {
    const QString color = (is_changed ? theme_of(this).tight : theme_of(this).text).name();
    name->setStyleSheet(QString("color: %1; font-weight: %2").arg(color).arg(is_changed ? 600 : 400));
  };
  for (std::size_t i = 0; i < pins_.size(); ++i) mark(pins_[i].name, changes_.pins.contains(whatif_pins()[i].field));
  for (std::size_t i = 0; i < numbers_.size(); ++i)
    mark(numbers_[i].name, changes_.machine.contains(offered_[i].pointer));
}

}  // namespace superstep::gui
