// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/explain_panel.h"

#include <QEvent>
#include <QRegularExpression>

#include "gui/base/theme.h"

namespace superstep::gui {
namespace {

QString escaped(const QString& text) { return text.toHtmlEscaped(); }

QString line(const Theme& theme, const QString& name, const QString& html) {
  return html.isEmpty() ? QString()
                        : QString("<p style='margin:0 0 8px 0'><span style='color:%1'>%2</span><br>%3</p>")
                              .arg(theme.secondary.name(), name, html);
}

// Thin spaces are blanks to HTML, where lines may break.
QString number_text(const ExplainedCell& cell) { return escaped(exact_text(cell)).replace(QChar(0x202F), "&nbsp;"); }

QString parts_table(const Theme& theme, const std::vector<Part>& parts) {
  QString out = "<table cellspacing='0' cellpadding='2' width='100%'>";
  for (const Part& part : parts) {
    out += QString("<tr><td>%1</td><td align='right'>%2</td></tr>")
               .arg(escaped(part.name), escaped(part.value).replace(' ', "&nbsp;"));
    if (!part.source.isEmpty())
      out += QString("<tr><td colspan='2' style='color:%1'>%2</td></tr>")
                 .arg(theme.secondary.name(), escaped(part.source));
  }
  return parts.empty() ? QString() : out + "</table>";
}

// "docs/explanation/cost-model.md: 7. Memory of a tile" as file and section.
QString where_text(const QString& where) {
  const QString file = where.section(": ", 0, 0), section = where.section(": ", 1);
  return section.isEmpty() ? escaped(file) : escaped(file) + ", “" + escaped(section) + "”";
}

}  // namespace

ExplainPanel::ExplainPanel(QWidget* parent) : QTextBrowser(parent) {
  setObjectName("explainPanel");
  setAccessibleName(tr("Explanation of a number"));
  setFrameShape(QFrame::NoFrame);
  setOpenLinks(false);
  setFont(ui_font(12));
  document()->setDocumentMargin(12);
  connect(this, &QTextBrowser::anchorClicked, this, [this](const QUrl& link) { showCell(link.toString().toUInt()); });
  setPlace({});
}

void ExplainPanel::setPlace(ExplainedPlace place) {
  place_ = std::move(place);
  showCell(0);
}

void ExplainPanel::showCell(std::size_t cell) {
  shown_ = cell;
  if (cell < place_.cells.size() && place_.cells[cell].isValid()) {
    setHtml(html(explained(place_.cells[cell])));
  } else if (!place_.other.explanation.isEmpty()) {
    setHtml(html(place_.other));
  } else {
    setHtml(QString("<p>%1</p>").arg(tr("Point at a number, or go to a cell of a table, and press E.")));
  }
}

QString ExplainPanel::html(const ExplainedCell& of) const {
  const Theme& theme = theme_of(this);
  const QStringList names{of.row, of.column};
  QString out = QString("<p style='margin:0 0 8px 0'><b>%1</b></p>")
                    .arg(escaped(names.filter(QRegularExpression(".")).join(" · ")));
  const bool rounded = of.shown != of.exact && !of.shown.isEmpty();
  out += line(theme, tr("Value"), number_text(of) + (rounded ? tr(", shown as %1").arg(escaped(of.shown)) : QString()));
  out += line(theme, tr("What it is"), escaped(of.explanation.what));
  out += line(theme, tr("How it comes about"), escaped(of.explanation.how) + parts_table(theme, of.explanation.parts));
  out += line(theme, tr("Documented in"), where_text(of.explanation.where));
  QString others;
  for (std::size_t i = 0; i < place_.cells.size(); ++i) {
    if (i == shown_ || !place_.cells[i].isValid()) continue;
    const ExplainedCell other = explained(place_.cells[i]);
    others += QString("<a style='color:%1' href='%2'>%3 · %4</a><br>")
                  .arg(theme.accent.name())
                  .arg(i)
                  .arg(escaped(other.row), escaped(other.column));
  }
  return out + line(theme, tr("The same number stands in"), others);
}

void ExplainPanel::changeEvent(QEvent* event) {
  QTextBrowser::changeEvent(event);
  if (event->type() == QEvent::PaletteChange && !place_.isEmpty()) showCell(shown_);
}

}  // namespace superstep::gui
