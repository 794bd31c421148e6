// SPDX-License-Identifier: Apache-2.0
// What the window shows without a report: how to get one, the last ones, and demos.
#pragma once

#include <QStringList>
#include <QWidget>

class QVBoxLayout;

namespace superstep::gui {

struct Demo;

class StartPage : public QWidget {
  Q_OBJECT
 public:
  explicit StartPage(QWidget* parent = nullptr);
  void setRecent(const QStringList& paths);

 signals:
  void chooseRequested();
  void openRequested(const QStringList& paths);
  void demoRequested(const Demo& demo);

 private:
  QWidget* recentBox_;
  QVBoxLayout* recent_;
};

}  // namespace superstep::gui
