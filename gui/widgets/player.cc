// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/player.h"

#include <QCheckBox>
#include <QComboBox>
#include <QHBoxLayout>
#include <QToolButton>
#include <algorithm>
#include <array>
#include <cmath>

#include "gui/base/format.h"

namespace superstep::gui {
namespace {

constexpr std::array<double, 7> kSlower{0.01, 0.1, 1, 10, 100, 1000, 10000};  // times slower than the machine
constexpr double kWantedSeconds = 20;
constexpr int kFrameMs = 33;

QString speed_text(double slower) {
  return slower < 1 ? QObject::tr("%1 : 1").arg(grouped(std::llround(1 / slower)))
                    : QObject::tr("1 : %1").arg(grouped(std::llround(slower)));
}

}  // namespace

Player::Player(QWidget* parent) : QWidget(parent) {
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(12, 0, 12, 0);
  layout->setSpacing(6);
  const auto step = [this](const QString& text, const char* name, const QString& meaning, int by) {
    connect(addButton(text, name, meaning), &QToolButton::clicked, this, [this, by] { emit stepped(by); });
  };
  constexpr int kFar = 1'000'000;
  step(QString(QChar(0x00AB)), "firstPhase", tr("To the first phase"), -kFar);
  step(QString(QChar(0x2039)), "previousPhase", tr("Previous phase ([)"), -1);
  play_ = addButton(tr("Play"), "play", tr("Play or pause (Space)"));
  play_->setCheckable(true);
  play_->setMinimumWidth(60);
  connect(play_, &QToolButton::toggled, this, &Player::setPlaying);
  step(QString(QChar(0x203A)), "nextPhase", tr("Next phase (])"), 1);
  step(QString(QChar(0x00BB)), "lastPhase", tr("To the last phase"), kFar);
  speed_ = new QComboBox;
  speed_->setObjectName("speed");
  speed_->setAccessibleName(tr("Speed against the machine"));
  speed_->setToolTip(speed_->accessibleName());
  for (const double slower : kSlower) speed_->addItem(speed_text(slower));
  loop_ = new QCheckBox(tr("loop"));
  loop_->setObjectName("loop");
  loop_->setAccessibleName(tr("Begin again at the end"));
  loop_->setChecked(true);
  layout->addWidget(speed_);
  layout->addWidget(loop_);
  layout->addStretch(1);
  timer_.setInterval(kFrameMs);
  connect(&timer_, &QTimer::timeout, this, &Player::tick);
  setEnabled(false);  // until there is something to play
}

QToolButton* Player::addButton(const QString& text, const char* name, const QString& meaning) {
  auto* button = new QToolButton;
  button->setText(text);
  button->setObjectName(name);
  button->setAccessibleName(meaning);
  button->setToolTip(meaning);
  button->setFocusPolicy(Qt::StrongFocus);
  layout()->addWidget(button);
  return button;
}

void Player::setLength(std::int64_t cycles, double clock_hz) {
  setPlaying(false);
  cycles_ = cycles;
  clockHz_ = clock_hz;
  setEnabled(cycles > 0 && clock_hz > 0);
  if (!isEnabled()) return;
  const double real = static_cast<double>(cycles) / clock_hz;
  const double place = std::round(std::log10(kWantedSeconds / real)) - std::log10(kSlower[0]);
  speed_->setCurrentIndex(static_cast<int>(std::clamp(place, 0.0, static_cast<double>(kSlower.size()) - 1)));
}

void Player::setPlaying(bool playing) {
  playing = playing && isEnabled();
  if (playing != isPlaying()) {
    playing ? timer_.start() : timer_.stop();
    clock_.start();
    emit playingChanged(playing);
  }
  play_->setChecked(playing);
  play_->setText(playing ? tr("Pause") : tr("Play"));
}

void Player::tick() {
  const double seconds = static_cast<double>(clock_.restart()) / 1e3;
  emit elapsed(seconds);
}

std::int64_t Player::advanced(std::int64_t cycle, double seconds) {
  const double slower = kSlower[static_cast<std::size_t>(std::max(0, speed_->currentIndex()))];
  const std::int64_t to = cycle + std::llround(seconds / slower * clockHz_);
  if (to < cycles_) return to;
  if (loop_->isChecked()) return cycles_ > 0 ? to % cycles_ : 0;
  setPlaying(false);
  return cycles_ - 1;
}

}  // namespace superstep::gui
