// SPDX-License-Identifier: Apache-2.0
// A framed area with a title row. With a table twin it gets a button that shows the numbers instead
// of the picture.
#pragma once

#include <QWidget>

class QAbstractButton;
class QStackedLayout;

namespace superstep::gui {

class Panel : public QWidget {
  Q_OBJECT
 public:
  static constexpr int kTitleHeight = 28;

  explicit Panel(const QString& title, QWidget* parent = nullptr);

  void setTitle(const QString& title);
  void setSubtitle(const QString& text);  // beside the title, fainter
  void setNote(const QString& text);      // at the right
  void setContent(QWidget* content);      // owned
  // Scrolls down when the panel is too low for it, and across where that is asked for.
  void setScrollingContent(QWidget* content, bool across = false);
  void setTable(QWidget* table);    // owned; adds the button
  void setCorner(QWidget* corner);  // owned; in the title row, at the right, instead of the button
  bool showsTable() const;
  void showTable(bool shown);

 signals:
  void tableToggled(bool shown);  // ahead of it being shown

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void add(QWidget* page);
  void setHead(QString& part, const QString& text);

  QString title_, subtitle_, note_;
  QStackedLayout* pages_;
  QAbstractButton* tableButton_ = nullptr;
  QWidget* corner_ = nullptr;  // the button, or another
};

}  // namespace superstep::gui
