// SPDX-License-Identifier: Apache-2.0
// The answer in one sentence, with what matters most beneath it.
#pragma once

#include <QFrame>
#include <optional>

#include "traces/report.pb.h"
#include "traces/verdict.h"

class QLabel;

namespace superstep::gui {

class VerdictBanner : public QFrame {
  Q_OBJECT
 public:
  explicit VerdictBanner(QWidget* parent = nullptr);
  void setIndex(const report::Index& index);
  QString text() const;  // the whole sentence; what an overflow is made of is shown below it

 protected:
  void paintEvent(QPaintEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void recolor();

  Fit fit_ = Fit::unknown;
  bool validated_ = false;
  QString whole_;
  QLabel* sentence_;
  QLabel* losses_;
  QLabel* validation_;
};

// A row of large numbers with their names.
struct KeyNumber {
  QString name, value, unit, below;
  double share = -1;   // of its limit, drawn as a bar; negative: none
  bool warns = false;  // over the limit
  // The 95 % band of an estimate, drawn as a bar with a tick at the estimate; none: without one.
  struct Estimate {
    double low = 0, at = 0, high = 0;
    QString text;  // "719 … 850"
  };
  std::optional<Estimate> band = {};
};

class KeyNumbers : public QWidget {
  Q_OBJECT
 public:
  explicit KeyNumbers(QWidget* parent = nullptr);
  void setNumbers(std::vector<KeyNumber> numbers);
  const std::vector<KeyNumber>& numbers() const { return numbers_; }

 protected:
  void paintEvent(QPaintEvent* event) override;
  bool event(QEvent* event) override;

 private:
  QRectF box(int i) const;
  void paintBelow(QPainter& painter, const KeyNumber& number, const QRectF& inner) const;
  std::vector<KeyNumber> numbers_;
};

// Use of limits other than tile memory: name, value of limit, bar.
class LimitBars : public QWidget {
  Q_OBJECT
 public:
  explicit LimitBars(QWidget* parent = nullptr);
  void setLimits(std::vector<KeyNumber> limits);
  QSize minimumSizeHint() const override;
  QSize sizeHint() const override { return minimumSizeHint(); }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  std::vector<KeyNumber> limits_;
};

}  // namespace superstep::gui
