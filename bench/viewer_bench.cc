// SPDX-License-Identifier: Apache-2.0
// How long the viewer takes for a first picture, for a frame and for an answer, and how much memory. Each case in a
// process of its own: viewer_bench CASE REPORT [SUPERSTEP]; make-trace and make-heat write the reports. Frames are from
// the change of what is seen to the painted picture, on the offscreen platform, by the processor's time and the
// clock's.

#include <QApplication>
#include <QElapsedTimer>
#include <QFile>
#include <QSignalSpy>
#include <QSlider>
#include <QThread>
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "bench/viewer_reports.h"
#include "gui/base/theme.h"
#include "gui/main_window.h"
#include "gui/session/view.h"
#include "gui/views/whatif.h"

namespace superstep::gui {
namespace {

// MiB, from the kernel's count for this process: "VmHWM" the most so far, "VmRSS" now.
double memory_mib(const char* what) {
  QFile file("/proc/self/status");
  if (!file.open(QIODevice::ReadOnly)) return 0;
  for (const QByteArray& line : file.readAll().split('\n')) {
    if (line.startsWith(what)) return line.simplified().split(' ')[1].toDouble() / 1024;
  }
  return 0;
}

double cpu_ms() { return 1e3 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

struct Times {
  std::vector<double> cpu, wall;

  void measure(const std::function<void()>& work) {
    QElapsedTimer timer;
    timer.start();
    const double before = cpu_ms();
    work();
    cpu.push_back(cpu_ms() - before);
    wall.push_back(static_cast<double>(timer.nsecsElapsed()) / 1e6);
  }
  static double quantile(std::vector<double> values, double q) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    return values[std::min(values.size() - 1, static_cast<std::size_t>(q * static_cast<double>(values.size())))];
  }
  void print(const char* what) const {
    std::printf("%-22s %4zu  processor: median %6.2f ms, 99 %% %6.2f ms   clock: median %6.2f ms, 99 %% %6.2f ms\n",
                what, cpu.size(), quantile(cpu, 0.5), quantile(cpu, 0.99), quantile(wall, 0.5), quantile(wall, 0.99));
  }
};

void print_memory(const QString& report) {
  const double file = static_cast<double>(QFile(report).size()) / (1 << 20);
  std::printf("%-22s file %.1f MiB, memory %.1f MiB at most, %.1f MiB now\n", "", file, memory_mib("VmHWM"),
              memory_mib("VmRSS"));
}

class Shown {
 public:
  explicit Shown(const QString& report, const char* view) : window(session) {
    session.setReadsAside(1 << 20);
    window.resize(1440, 900);
    if (!session.open(report)) std::exit(1);
    window.showView(static_cast<int>(find_view(view) - all_views().data()));
    window.show();
    QCoreApplication::processEvents();
  }
  Session session;
  MainWindow window;
};

void first_picture(const QString& report) {
  Times times;
  times.measure([&] { const Shown shown(report, "summary"); });
  times.print("first picture");
  print_memory(report);
}

void trace(const QString& report) {
  Times first, read, zoom, pan;
  std::unique_ptr<Shown> shown;
  first.measure([&] { shown = std::make_unique<Shown>(report, "trace"); });
  first.print("first picture");
  read.measure([&] {
    QSignalSpy done(&shown->session, &Session::traceRead);
    while (shown->session.readsTrace() && done.isEmpty()) done.wait(20000);
    QCoreApplication::processEvents();
  });
  read.print("trace read aside");
  print_memory(report);
  const double all = static_cast<double>(shown->session.trace()->cycles);
  TimeState state = shown->session.timeState();
  const auto show = [&](double from, double to) {
    state.trace = {from, to};
    shown->session.setTimeState(state);
    QCoreApplication::processEvents();
  };
  for (int mode = 0; mode < 3; ++mode) {
    state.mode = mode;
    for (double width = all; width > 20'000; width *= 0.93) {
      zoom.measure([&] { show(all * 0.4 - width * 0.4, all * 0.4 + width * 0.6); });
    }
    for (const double width : {0.5 * all, 1e-2 * all, 1e-4 * all}) {
      for (int i = 0; i < 60; ++i) {
        const double from = 0.2 * all + i * width / 60;
        pan.measure([&] { show(from, from + width); });
      }
    }
  }
  zoom.print("zoom of the trace");
  pan.print("pan of the trace");
  print_memory(report);
}

void heat(const QString& report) {
  Times first, zoom, pan;
  std::unique_ptr<Shown> shown;
  first.measure([&] { shown = std::make_unique<Shown>(report, "heatmap"); });
  first.print("first picture");
  for (int i = 0; i < 40; ++i) {  // detail is made aside
    QCoreApplication::processEvents(QEventLoop::AllEvents, 50);
    QThread::msleep(25);
  }
  const auto phases = static_cast<int>(shown->session.heat()->phases.size());
  const std::int64_t tiles = shown->session.heat()->tiles;
  HeatState state = shown->session.heatState();
  const auto show = [&](const HeatWindow& window) {
    state.window = window;
    shown->session.setHeatState(state);
    QCoreApplication::processEvents();
  };
  HeatWindow window = HeatWindow::whole(phases, tiles);
  for (int i = 0; i < 120; ++i) {
    window = window.zoomed(0.93, phases * 0.4, static_cast<double>(tiles) * 0.4, phases, tiles);
    zoom.measure([&] { show(window); });
  }
  for (const double share : {0.8, 0.1, 0.005}) {
    HeatWindow part{0, phases * share, 0, static_cast<double>(tiles)};
    for (int i = 0; i < 60; ++i) {
      part = part.moved(phases * share / 100, 0, phases, tiles);
      pan.measure([&] { show(part); });
    }
  }
  zoom.print("zoom of the heat map");
  pan.print("pan of the heat map");
  print_memory(report);
}

void whatif(const QString& report, const QString& program) {
  Shown shown(report, "whatif");
  auto* view = shown.window.findChild<WhatIfView*>();
  ServeClient& client = view->client();
  client.setProgram(program, {"serve"});
  QSignalSpy answered(&client, &ServeClient::answered), refused(&client, &ServeClient::refused);
  const auto sliders = view->findChildren<QSlider*>();
  Times shown_after;
  std::vector<double> asked;
  for (int i = 0; i < 60; ++i) {
    QSlider* slider = sliders[i % 2];
    shown_after.measure([&] {
      slider->setValue(slider->minimum() + (slider->maximum() - slider->minimum()) * (i * 7 % 20) / 20);
      const auto before = answered.size() + refused.size();
      QElapsedTimer patience;
      patience.start();
      while (answered.size() + refused.size() == before && patience.elapsed() < 30000) answered.wait(20);
      QCoreApplication::processEvents();
    });
    if (i == 0) {
      shown_after.print("the first, with tables");
      shown_after = {};
    } else if (!answered.isEmpty()) {
      asked.push_back(answered.last()[1].toDouble());
    }
  }
  shown_after.print("slider to difference");
  std::printf("%-22s %4zu  asked to answered: median %.1f ms, 99 %% %.1f ms; %lld refused\n", "", asked.size(),
              Times::quantile(asked, 0.5), Times::quantile(asked, 0.99), static_cast<long long>(refused.size()));
}

}  // namespace
}  // namespace superstep::gui

int main(int argc, char** argv) {
  using namespace superstep;
  qputenv("QT_QPA_PLATFORM", "offscreen");
  qputenv("QT_SCALE_FACTOR", "1");
  if (argc < 3) return std::fprintf(stderr, "viewer_bench CASE REPORT [SUPERSTEP]\n"), 2;
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const std::string what = argv[1];
  if (what == "make-trace") return write_long_trace(argv[2], 10'000'000), 0;
  if (what == "make-heat") return write_wide_heat_map(argv[2], 100'000), 0;
  QApplication app(argc, argv);
  gui::apply_theme(app, gui::light_theme());
  const QString report = QString::fromLocal8Bit(argv[2]);
  if (what == "first") return gui::first_picture(report), 0;
  if (what == "trace") return gui::trace(report), 0;
  if (what == "heat") return gui::heat(report), 0;
  if (what == "whatif" && argc > 3) return gui::whatif(report, QString::fromLocal8Bit(argv[3])), 0;
  return std::fprintf(stderr, "viewer_bench: no case %s\n", argv[1]), 2;
}
