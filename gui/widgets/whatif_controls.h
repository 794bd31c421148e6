// SPDX-License-Identifier: Apache-2.0
// Boxes and sliders of the what-if: a box for each field of a plan, a slider for each number of the machine. The main
// ones first, the others below when they are asked for.
#pragma once

#include <QWidget>
#include <vector>

#include "gui/models/whatif.h"

class QComboBox;
class QDoubleSpinBox;
class QGridLayout;
class QLabel;
class QSlider;
class QToolButton;
class QVBoxLayout;

namespace superstep::gui {

class WhatIfControls : public QWidget {
  Q_OBJECT
 public:
  explicit WhatIfControls(QWidget* parent = nullptr);

  // Takes all changes back; null: there is no report.
  void setReport(const ReportPointer& report);
  const WhatIf& changes() const { return changes_; }
  void setPlan(const std::string& plan_json);  // in place of the shown one

 signals:
  void changed();

 private:
  struct Pin {
    QComboBox* box;
    QLabel* name;
  };
  struct Number {
    QSlider* slider;
    QDoubleSpinBox* box;
    QLabel* name;
  };
  QGridLayout* addSection(QVBoxLayout* column, const QString& title);
  QGridLayout* addFolded(QVBoxLayout* column, const QString& title, const char* name);
  void addPin(QGridLayout* grid, std::size_t pin);
  void addNumber(QGridLayout* grid, std::size_t number);
  void makePins(QVBoxLayout* column);
  void makeNumbers();
  void fillPins();
  void fillNumbers();
  void setPin(std::size_t pin, const QJsonValue& value);
  void numberChanged(std::size_t number);
  void markChanges();

  ReportPointer report_;
  WhatIf changes_;
  std::vector<Pin> pins_;
  std::vector<WhatIfNumber> offered_;
  std::vector<Number> numbers_;
  QWidget* numbersPage_ = nullptr;  // made anew when other numbers are offered
  QVBoxLayout* column_;
};

}  // namespace superstep::gui
