// SPDX-License-Identifier: Apache-2.0
// What a change would do: pins search again, machine numbers cost the shown plan again; a child process answers.
#pragma once

#include "gui/models/whatif.h"
#include "gui/serve_client.h"
#include "gui/view.h"

class QComboBox;
class QDoubleSpinBox;
class QGraphicsOpacityEffect;
class QGridLayout;
class QLabel;
class QSlider;
class QToolButton;

namespace superstep::gui {

class DataTable;
class DifferenceBars;
class Panel;

class WhatIfView : public View {
  Q_OBJECT
 public:
  explicit WhatIfView(Session& session, QWidget* parent = nullptr);

  std::vector<NamedTable> tables() const override { return {{"Difference", &figures_}, {"Causes", &terms_}}; }
  QModelIndex valueAt(QWidget* chart, const QPointF& at) override;
  QString statusText() const override;
  QString unitsText() const override;
  ServeClient& client() { return client_; }
  const WhatIf& changes() const { return changes_; }

 private:
  struct Number {
    QSlider* slider;
    QDoubleSpinBox* box;
    QLabel* name;
  };
  QWidget* makeControls();
  QWidget* makeButtons();
  QWidget* makeDifference();
  void addPin(QGridLayout* grid, std::size_t pin);
  void addNumber(QGridLayout* grid, std::size_t number);
  void connectClient();
  void rebuild();       // another report
  void fillControls();  // with the report's values
  void pinChanged(std::size_t pin);
  void numberChanged(std::size_t number);
  void askAgain();
  void showAnswer(AnswerPointer answer, double ms);
  void showMessage(const QString& text, bool bad, bool can_restart = false);
  void markChanges();
  void copyPins();
  void takeTrial();

  Session& session_;
  WhatIf changes_;
  AnswerPointer answer_;
  ServeClient client_;
  TableModel figures_, terms_;
  std::vector<QComboBox*> pins_;
  std::vector<QLabel*> pinNames_;
  std::vector<Number> numbers_;
  QLabel* headline_;
  QLabel* message_;
  QLabel* elapsed_;
  QToolButton* restart_;
  QToolButton* copy_;
  QToolButton* reset_;
  DataTable* figuresView_;
  DataTable* termsView_;
  Panel* difference_;
  QGraphicsOpacityEffect* dim_;
};

}  // namespace superstep::gui
