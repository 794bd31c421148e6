// SPDX-License-Identifier: Apache-2.0
// Plays time: to the ends, one phase back or on, play and pause, how much slower than the machine, and whether it
// begins again at the end.
#pragma once

#include <QElapsedTimer>
#include <QTimer>
#include <QWidget>
#include <cstdint>

class QCheckBox;
class QComboBox;
class QToolButton;

namespace superstep::gui {

class Player : public QWidget {
  Q_OBJECT
 public:
  explicit Player(QWidget* parent = nullptr);

  // `cycles` long at `clock_hz`; chooses a speed at which that takes some 20 seconds.
  void setLength(std::int64_t cycles, double clock_hz);
  bool isPlaying() const { return timer_.isActive(); }
  void setPlaying(bool playing);
  // Where `seconds` of the viewer's time lead to from `cycle`: begins again or stops at the end.
  std::int64_t advanced(std::int64_t cycle, double seconds);

 signals:
  void elapsed(double seconds);  // while it plays
  void stepped(int by);          // phases; the ends are as far as it goes
  void playingChanged(bool playing);

 private:
  QToolButton* addButton(const QString& text, const char* name, const QString& meaning);
  void tick();

  QTimer timer_;
  QElapsedTimer clock_;
  QToolButton* play_;
  QComboBox* speed_;
  QCheckBox* loop_;
  std::int64_t cycles_ = 0;
  double clockHz_ = 0;
};

}  // namespace superstep::gui
