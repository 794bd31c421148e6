// SPDX-License-Identifier: Apache-2.0
// What a change would do: pins search again, machine numbers cost the shown plan again; a child process answers.
#pragma once

#include "gui/models/whatif.h"
#include "gui/session/serve_client.h"
#include "gui/session/view.h"

class QBoxLayout;
class QGraphicsOpacityEffect;
class QLabel;
class QToolButton;

namespace superstep::gui {

class DataTable;
class DifferenceBars;
class Panel;
class WhatIfControls;

class WhatIfView : public View {
  Q_OBJECT
 public:
  explicit WhatIfView(Session& session, QWidget* parent = nullptr);

  std::vector<NamedTable> tables() const override {
    return {{"Difference", &figures_}, {"Causes", &terms_}, {"Inputs", &inputs_}, {"Changes together", &together_}};
  }
  QModelIndex valueAt(QWidget* chart, const QPointF& at) override;
  QString statusText() const override;
  QString unitsText() const override;
  ServeClient& client() { return client_; }
  const WhatIf& changes() const;
  // In a column, as narrow as a dock beside another view.
  void setDocked(bool docked);

 private:
  QWidget* makeControls();
  QWidget* makeButtons();
  QWidget* makeDifference();
  void connectClient();
  void rebuild();  // another report
  void askAgain();
  void showAnswer(AnswerPointer answer, double ms);
  void showMessage(const QString& text, bool bad, bool can_restart = false);
  void copyPins();
  void openAsPlan();  // a job of its own in the batch, whose report opens like any other
  void takeTrial();
  void showTogether();

  Session& session_;
  AnswerPointer answer_;
  ServeClient client_;
  TableModel figures_, terms_, inputs_, together_;
  QBoxLayout* layout_;
  WhatIfControls* controls_;
  Panel* controlsPanel_;
  QLabel* headline_;
  QLabel* certainty_;
  QLabel* message_;
  QLabel* elapsed_;
  QToolButton* restart_;
  QToolButton* copy_;
  QToolButton* open_;
  QToolButton* reset_;
  bool docked_ = false;
  DataTable* figuresView_;
  DataTable* termsView_;
  Panel* difference_;
  Panel* togetherPanel_;
  DataTable* togetherView_;
  QGraphicsOpacityEffect* dim_;
};

}  // namespace superstep::gui
