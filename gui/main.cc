// SPDX-License-Identifier: Apache-2.0
// superstep-view [REPORT ...] [JOB.json ...]
// superstep-view REPORT [REPORT ...] --export VIEW -o FILE
// superstep-view JOB.json [JOB.json ...] --export batch -o FILE
#include <QApplication>
#include <QCommandLineParser>
#include <QEventLoop>
#include <QSettings>
#include <QStandardPaths>
#include <cstdio>
#include <cstring>

#include "gui/base/theme.h"
#include "gui/batch/files.h"
#include "gui/batch/queue.h"
#include "gui/main_window.h"
#include "gui/models/batch_export.h"
#include "gui/session/export.h"
#include "model/error.h"

namespace superstep::gui {
namespace {

constexpr int kFailed = 1;  // a job whose plan does not fit, or that has none
constexpr int kBadInput = 2;
constexpr std::uint64_t kManySteps = 200'000;  // some 50 ms of reading

bool asks_for_export(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], "--export", 8) == 0) return true;
  }
  return false;
}

bool needs_no_screen(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    for (const char* option : {"--help", "-h", "--version", "-v"}) {
      if (std::strcmp(argv[i], option) == 0) return true;
    }
  }
  return asks_for_export(argc, argv);
}

bool has_display() { return qEnvironmentVariableIsSet("DISPLAY") || qEnvironmentVariableIsSet("WAYLAND_DISPLAY"); }

int fail(const QString& message) {
  std::fprintf(stderr, "superstep-view: %s\n", qPrintable(message));
  return kBadInput;
}

QSize size_of(const QString& text) {
  const QStringList parts = text.split('x');
  const QSize size = parts.size() == 2 ? QSize(parts[0].toInt(), parts[1].toInt()) : QSize();
  if (size.width() < 640 || size.height() < 400 || size.width() > 16384 || size.height() > 16384) {
    throw Error("--size", "found \"" + text.toStdString() + "\", expected WIDTHxHEIGHT from 640x400 to 16384x16384");
  }
  return size;
}

int run_export(Session& session, const QString& id, const QString& path, const QString& size, const QString& page) {
  const ViewDef* view = find_view(id.toStdString());
  if (!view) {
    std::vector<std::string> ids;
    for (const ViewDef& def : all_views()) ids.emplace_back(def.id);
    throw Error("--export", "no view \"" + id.toStdString() + "\"" + name_hint(id.toStdString(), ids));
  }
  if (path.isEmpty()) throw Error("--export", "needs -o FILE, with an ending of png, svg or csv");
  if (id == "batch" && is_batch_format(path)) {
    write_batch(session.batch().items(), path);
    return 0;
  }
  const int page_shown = page.isEmpty() ? -1 : find_page(session, *view, page);
  export_view(session, *view, path, size.isEmpty() ? kExportSize : size_of(size), page_shown);
  return 0;
}

// All of them, before anything is exported.
void plan(BatchQueue& queue, const QStringList& jobs) {
  const QString left_out = queue.addAll(jobs);
  if (!left_out.isEmpty()) throw Error("", left_out.toStdString());
  QEventLoop loop;
  QObject::connect(&queue, &BatchQueue::finished, &loop, &QEventLoop::quit, Qt::QueuedConnection);
  queue.run();
  loop.exec();
}

QString settings_file(const char* name) {
  return QSettings(QSettings::IniFormat, QSettings::UserScope, "superstep", name).fileName();
}

int run(QApplication& app, const QCommandLineParser& parser, const Preferences& preferences) {
  Session session;
  QStringList failures;
  QObject::connect(&session, &Session::failed, [&](const QString& message) { failures << message; });
  const bool exports = parser.isSet("export");
  if (!exports) {
    session.setReadsAside(kManySteps);
    session.batch().remember(settings_file("batch"));
    const QString folder = QStandardPaths::writableLocation(QStandardPaths::CacheLocation) + "/demo";
    MainWindow window(session, preferences, folder);
    window.openFiles(parser.positionalArguments());
    window.show();
    return app.exec();
  }
  if (parser.positionalArguments().isEmpty()) throw Error("--export", "needs a report");
  QStringList jobs;
  for (const QString& path : parser.positionalArguments()) {
    if (can_be_queued(path)) {
      jobs << path;
    } else if (!session.open(path)) {
      return fail(failures.join('\n'));
    }
  }
  session.setCurrent(0);  // what is not compared is about the first
  if (!jobs.isEmpty()) plan(session.batch(), jobs);
  const int code =
      run_export(session, parser.value("export"), parser.value("output"), parser.value("size"), parser.value("page"));
  if (!failures.isEmpty()) return fail(failures.join('\n'));
  return batch_passed(session.batch().items()) ? code : kFailed;
}

}  // namespace
}  // namespace superstep::gui

int main(int argc, char** argv) {
  using namespace superstep::gui;
  if (needs_no_screen(argc, argv)) {
    // Exports look the same with and without a display.
    if (!qEnvironmentVariableIsSet("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
    if (asks_for_export(argc, argv)) qputenv("QT_SCALE_FACTOR", "1");
  } else if (!has_display() && !qEnvironmentVariableIsSet("QT_QPA_PLATFORM")) {
    return fail("there is no display; \"--export VIEW -o FILE\" writes a view without one");
  }
  QApplication app(argc, argv);
  QApplication::setApplicationName("superstep-view");
  QApplication::setApplicationVersion(SUPERSTEP_VERSION);
  QCommandLineParser parser;
  parser.setApplicationDescription("Shows Superstep reports.");
  parser.addHelpOption();
  parser.addVersionOption();
  parser.addPositionalArgument("report", "Reports to open, jobs and sweeps to queue.", "[REPORT ...] [JOB.json ...]");
  parser.addOption({"export", "Write a view to a file and leave.", "VIEW"});
  parser.addOption(
      {{"o", "output"}, "The file, ending in .png, .svg or .csv; of the batch page also .md, .json, .xml.", "FILE"});
  parser.addOption({"size", "Of an exported picture, 1280x800 if not given.", "WxH"});
  parser.addOption({"page", "Of a view that has several, the one to export; a wrong name lists them.", "PAGE"});
  parser.addOption({"theme", "light, dark or contrast (high contrast).", "THEME"});
  parser.addOption({"dark", "The same as --theme dark."});
  parser.process(app);
  // Pictures do not depend on who makes them.
  const Preferences preferences(parser.isSet("export") ? QString() : settings_file("window"));
  try {
    const QString theme = parser.isSet("dark") ? QString("dark") : parser.value("theme");
    apply_theme(app, theme_named(theme.isEmpty() ? preferences.theme() : theme));
    return run(app, parser, preferences);
  } catch (const superstep::Error& error) {
    return fail(QString::fromUtf8(error.what()));
  }
}
