// SPDX-License-Identifier: Apache-2.0
// A table of a view, by the titles of its columns; and what a report does, reckoned from its program without the
// viewer.
#pragma once

#include <QAbstractItemModel>
#include <QString>
#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gui/models/table_model.h"
#include "traces/report_io.h"

namespace superstep::gui {

struct SeenTable {
  std::string id;  // "summary/Plans"
  const QAbstractItemModel* model = nullptr;

  int rows() const { return model->rowCount(); }
  int column(std::string_view title) const {  // -1: none
    for (int c = static_cast<int>(titles.size()); c < model->columnCount(); ++c) {
      titles.push_back(model->headerData(c, Qt::Horizontal).toString().toStdString());
    }
    const auto at = std::find(titles.begin(), titles.end(), title);
    return at == titles.end() ? -1 : static_cast<int>(at - titles.begin());
  }
  double value(int row, const char* title) const {
    return model->index(row, column(title)).data(kExactRole).toDouble();
  }
  std::int64_t whole(int row, const char* title) const {
    return model->index(row, column(title)).data(kExactRole).toLongLong();
  }
  std::string text(int row, const char* title) const {
    return model->index(row, column(title)).data(kExactRole).toString().toStdString();
  }

  mutable std::vector<std::string> titles = {};
};

// How often each IPU class calls a function in a step, and for how long it works, by kind of work.
struct Reckoned {
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> calls;  // of {IPU, function}
  std::map<std::pair<std::int64_t, std::string>, std::int64_t> cycles;  // of {IPU, work}, those of calls

  explicit Reckoned(const report::Index& index) { walk(index.program(), 1, -1); }

 private:
  void walk(const report::ProgramNode& n, std::int64_t times, std::int64_t ipu) {
    if (n.ipu_class() >= 0) ipu = n.ipu_class();
    if (n.kind() == "repeat") times *= n.micro_batches() > 0 ? n.micro_batches() : n.count();
    if (n.kind() == "call") {
      calls[{ipu, n.function()}] += times;
      cycles[{ipu, n.work()}] += times * n.cycles();
    }
    for (const auto& child : n.children()) walk(child, times, ipu);
  }
};

}  // namespace superstep::gui
