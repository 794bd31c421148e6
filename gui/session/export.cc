// SPDX-License-Identifier: Apache-2.0
#include "gui/session/export.h"

#include <QApplication>
#include <QBuffer>
#include <QFileInfo>
#include <QPainter>
#include <QSaveFile>
#include <QSvgGenerator>
#include <QVBoxLayout>
#include <memory>

#include "gui/base/theme.h"
#include "gui/models/table_model.h"
#include "gui/paint/draw.h"
#include "model/error.h"
#include "traces/export/csv_text.h"

namespace superstep::gui {
namespace {

// The report's title above the view.
class Page : public QWidget {
 public:
  Page(const QString& title, const QString& subtitle, QWidget* view) : title_(title), subtitle_(subtitle) {
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 34, 0, 0);
    layout->addWidget(view);
  }

 protected:
  void paintEvent(QPaintEvent*) override {
    const Theme& theme = theme_of(this);
    QPainter painter(this);
    painter.fillRect(rect(), theme.window);
    painter.setPen(theme.text);
    painter.setFont(ui_font(13, QFont::DemiBold));
    const double width = text_width(painter.font(), title_);
    draw_text(painter, QRectF(12, 10, this->width() - 24, 22), title_);
    painter.setPen(theme.secondary);
    painter.setFont(ui_font(12));
    draw_text(painter, QRectF(24 + width, 10, this->width() - 36 - width, 22), subtitle_);
  }

 private:
  QString title_, subtitle_;
};

QString csv_cell(const QString& text) { return QString::fromStdString(exports::csv_cell(text.toStdString())); }

// The picture of a page in the format of the ending.
QByteArray picture(QWidget& page, const QString& ending) {
  QByteArray bytes;
  QBuffer buffer(&bytes);
  buffer.open(QIODevice::WriteOnly);
  if (ending == "svg") {
    QSvgGenerator svg;
    svg.setOutputDevice(&buffer);
    svg.setResolution(96);  // a pixel of the screen is a pixel of the browser
    svg.setSize(page.size());
    svg.setViewBox(page.rect());
    svg.setTitle(page.windowTitle());
    QPainter painter(&svg);
    page.render(&painter);
  } else {
    QImage image(page.size(), QImage::Format_RGB32);
    QPainter painter(&image);
    page.render(&painter);
    painter.end();
    image.save(&buffer, "PNG");
  }
  return bytes;
}

struct Heading {
  QString title, subtitle;
};

Heading heading(const ReportPointer& report, const ViewDef& def) {
  if (!report || def.without_report) return {def.title, {}};
  const report::Index& index = report->index();
  const QString title = index.title().empty() ? QFileInfo(QString::fromStdString(report->path().string())).fileName()
                                              : QString::fromStdString(index.title());
  return {title,
          QString::fromStdString(index.plan().label()) + (index.plan().label().empty() ? "" : " · ") + def.title};
}

}  // namespace

namespace {

// Bars and lanes beside a number, and sizes in KiB where exact bytes stand in a column of their own.
bool repeats_another(const QAbstractItemModel& model, int column) {
  if (model.index(0, column).data(kShareRole).isValid()) return true;
  if (model.headerData(column, Qt::Horizontal).toString() != "KiB") return false;
  for (int c = 0; c < model.columnCount(); ++c) {
    if (model.headerData(c, Qt::Horizontal).toString() == "Bytes") return true;
  }
  return false;
}

}  // namespace

QString tables_csv(const std::vector<NamedTable>& tables) {
  QString out;
  for (const NamedTable& table : tables) {
    if (!out.isEmpty()) out += '\n';
    out += "# " + table.name + '\n';
    std::vector<int> columns;
    QStringList cells;
    for (int c = 0; c < table.model->columnCount(); ++c) {
      if (repeats_another(*table.model, c)) continue;
      columns.push_back(c);
      cells << csv_cell(exact_heading(*table.model, c));
    }
    out += cells.join(',') + '\n';
    for (int r = 0; r < table.model->rowCount(); ++r) {
      cells.clear();
      for (const int c : columns) {
        const QVariant value = table.model->index(r, c).data(kExactRole);
        cells << csv_cell(value.userType() == QMetaType::Double ? exact_seconds(value.toDouble()) : value.toString());
      }
      out += cells.join(',') + '\n';
    }
  }
  return out;
}

int find_page(Session& session, const ViewDef& def, const QString& name) {
  const std::unique_ptr<View> view(def.make(session, nullptr));
  const QStringList pages = view->pages();
  const auto page = static_cast<int>(pages.indexOf(name));
  if (page >= 0) return page;
  const std::string found = "found \"" + name.toStdString() + "\", expected ";
  if (pages.isEmpty()) throw Error("--page", found + "none: \"" + def.id + "\" has one page only");
  throw Error("--page", found + "one of: " + pages.join(", ").toStdString());
}

void export_view(Session& session, const ViewDef& def, const QString& path, QSize size, int page_shown) {
  const std::string where = path.toStdString();
  const ReportPointer report = session.report();
  if (!report && !def.without_report) throw Error(where, "no report is open, so there is nothing to export");
  const QString ending = QFileInfo(path).suffix().toLower();
  if (ending != "png" && ending != "svg" && ending != "csv") {
    throw Error(where, "the ending says the format, expected one of: png, svg, csv");
  }
  View* view = def.make(session, nullptr);
  if (page_shown >= 0 && page_shown != view->page()) view->showPage(page_shown);
  const auto [title, subtitle] = heading(report, def);
  Page page(title, subtitle, view);
  page.setWindowTitle(title);
  QByteArray bytes;
  if (ending == "csv") {
    bytes = tables_csv(view->tables()).toUtf8();
  } else {
    page.resize(size);
    page.ensurePolished();
    page.grab();  // lays everything out; what is painted next is settled
    bytes = picture(page, ending);
  }
  QSaveFile file(path);
  if (!file.open(QIODevice::WriteOnly) || file.write(bytes) != bytes.size() || !file.commit()) {
    throw Error(where, "cannot be written: " + file.errorString().toStdString());
  }
}

}  // namespace superstep::gui
