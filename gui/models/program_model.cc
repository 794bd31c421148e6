// SPDX-License-Identifier: Apache-2.0
#include "gui/models/program_model.h"

#include <algorithm>
#include "gui/models/meanings.h"
#include "gui/models/search_pattern.h"
#include "gui/models/steps.h"
#include "gui/models/table_columns.h"

namespace superstep::gui {
namespace {

const report::Function* function_of(const report::Index& index, const report::ProgramNode& node) {
  const bool calls = node.kind() == "call" && node.function() >= 0 && node.function() < index.functions_size();
  return calls ? &index.functions(static_cast<int>(node.function())) : nullptr;
}

const Meaning& column_meaning(int column) {
  static constexpr std::array<Meaning, kProgramColumns> kMeanings{means::kNode,          means::kNodeKind,
                                                                  means::kIterations,    means::kCyclesOfOne,
                                                                  means::kCyclesInTotal, means::kShareOfStep};
  return kMeanings[static_cast<std::size_t>(column)];
}

QString ipu_name(const report::Index& index, const report::ProgramNode& node) {
  const bool known = node.ipu_class() >= 0 && node.ipu_class() < index.ipu_classes_size();
  return known && node.kind() == "call" ? text(index.ipu_classes(static_cast<int>(node.ipu_class())).name())
                                        : QString();
}

}  // namespace

void ProgramModel::setReport(ReportPointer report, std::shared_ptr<const Steps> steps) {
  beginResetModel();
  report_ = std::move(report);
  steps_ = std::move(steps);
  root_ = std::make_unique<ProgramItem>();
  root_->fetched = true;
  if (report_ && report_->index().has_program()) {
    auto child = std::make_unique<ProgramItem>();
    child->node = &report_->index().program();
    child->cycles = child->node->cycles();
    child->count = std::max<std::int64_t>(1, child->node->count());
    child->parent = root_.get();
    root_->children.push_back(std::move(child));
  }
  endResetModel();
}

ProgramItem* ProgramModel::itemAt(const QModelIndex& index) const {
  return index.isValid() ? static_cast<ProgramItem*>(index.internalPointer()) : root_.get();
}

const ProgramItem* ProgramModel::item(const QModelIndex& index) const {
  return index.isValid() ? itemAt(index) : nullptr;
}

QModelIndex ProgramModel::index(int row, int column, const QModelIndex& parent) const {
  const ProgramItem* above = itemAt(parent);
  if (!above || row < 0 || row >= static_cast<int>(above->children.size()) || column < 0 || column >= kProgramColumns)
    return {};
  return createIndex(row, column, above->children[static_cast<std::size_t>(row)].get());
}

QModelIndex ProgramModel::parent(const QModelIndex& child) const {
  if (!child.isValid()) return {};
  ProgramItem* above = itemAt(child)->parent;
  return above == root_.get() ? QModelIndex() : createIndex(above->row, 0, above);
}

int ProgramModel::rowCount(const QModelIndex& parent) const {
  const ProgramItem* at = itemAt(parent);
  return !at || parent.column() > 0 ? 0 : static_cast<int>(at->children.size());
}

bool ProgramModel::hasParts(const ProgramItem& item) const {
  if (!item.node) return false;
  if (item.node->children_size() > 0) return true;
  const report::Function* function = function_of(report_->index(), *item.node);
  if (!function) return false;
  const auto [first, end] = steps_of(*function, *steps_);
  return end > first;
}

bool ProgramModel::hasChildren(const QModelIndex& parent) const {
  const ProgramItem* at = itemAt(parent);
  if (!at || parent.column() > 0) return false;
  return at->fetched ? !at->children.empty() : hasParts(*at);
}

bool ProgramModel::canFetchMore(const QModelIndex& parent) const {
  const ProgramItem* at = itemAt(parent);
  return at && parent.column() <= 0 && !at->fetched && hasParts(*at);
}

void ProgramModel::fetchMore(const QModelIndex& parent) {
  if (!canFetchMore(parent)) return;
  ProgramItem* above = itemAt(parent);
  std::vector<std::unique_ptr<ProgramItem>> children;
  const auto add = [&](const report::ProgramNode* node, std::int64_t step, std::int64_t cycles, std::int64_t count) {
    auto child = std::make_unique<ProgramItem>();
    child->node = node;
    child->step = step;
    child->cycles = cycles;
    child->count = std::max<std::int64_t>(1, count);
    child->times = above->times * above->count;
    child->parent = above;
    child->row = static_cast<int>(children.size());
    children.push_back(std::move(child));
  };
  for (const auto& node : above->node->children()) add(&node, -1, node.cycles(), node.count());
  if (children.empty()) {
    const auto [first, end] = steps_of(*function_of(report_->index(), *above->node), *steps_);
    for (std::int64_t s = first; s < end; ++s) add(nullptr, s, steps_->cycles[static_cast<std::size_t>(s)], 1);
  }
  beginInsertRows(parent.siblingAtColumn(0), 0, static_cast<int>(children.size()) - 1);
  above->children = std::move(children);
  above->fetched = true;
  endInsertRows();
}

QString ProgramModel::name(const ProgramItem& item) const {
  return text(item.node ? item.node->name() : steps_->name[static_cast<std::size_t>(item.step)]);
}

QString ProgramModel::kind(const ProgramItem& item) const {
  return text(item.node ? item.node->kind() : steps_->kind[static_cast<std::size_t>(item.step)]);
}

QVariant ProgramModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const ProgramItem& at = *itemAt(index);
  const int column = index.column();
  const std::int64_t step = std::max<std::int64_t>(1, root_->children[0]->total());
  if (role == Qt::TextAlignmentRole) {
    return QVariant::fromValue(Qt::AlignVCenter | (column >= 2 ? Qt::AlignRight : Qt::AlignLeft));
  }
  if (role == kKindRole) return column == 0 ? QVariant(kind(at)) : QVariant();
  if (role == Qt::ToolTipRole) return name(at);
  if (role == kExplanationRole) return headerData(column, Qt::Horizontal, role);
  if (role != Qt::DisplayRole && role != kExactRole) return {};
  const bool shown = role == Qt::DisplayRole;
  const auto number = [&](std::int64_t value) { return shown ? QVariant(grouped(value)) : exact(value); };
  const double share = static_cast<double>(at.total()) / static_cast<double>(step) * 100;
  switch (column) {
    case 0:
      return name(at);
    case 1:
      return kind(at);
    case 2:
      return shown && at.count == 1 ? QVariant(QString()) : number(at.count);
    case 3:
      return number(at.cycles);
    case 4:
      return number(at.total());
    default:
      return shown ? QVariant(fixed_decimals(share, 2)) : QVariant(share);
  }
}

QVariant ProgramModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= kProgramColumns) return {};
  static const char* const kTitles[] = {"Program",         "Kind",     "Iterations", "Cycles of one",
                                        "Cycles in total", "% of step"};
  if (role == Qt::DisplayRole) return QString(kTitles[section]);
  if (role == kExplanationRole) return QVariant::fromValue(explanation_of(column_meaning(section)));
  if (role == Qt::TextAlignmentRole) {
    return QVariant::fromValue(Qt::AlignVCenter | (section >= 2 ? Qt::AlignRight : Qt::AlignLeft));
  }
  return {};
}

TableContents ProgramModel::facts(const QModelIndex& index) const {
  struct Fact {
    QString name, value;
  };
  auto facts = std::make_shared<std::vector<Fact>>();
  const ProgramItem* at = item(index);
  if (!at) return {};
  const report::Index& report = report_->index();
  const auto add = [&](const char* name, const QString& value) { facts->push_back({name, value}); };
  add("Name", name(*at));
  add("Kind", kind(*at));
  add("Iterations", grouped(at->count));
  add("Cycles of one iteration", grouped(at->cycles));
  add("Entered in a step", grouped(at->times) + (at->times == 1 ? " time" : " times"));
  add("Cycles in a step", grouped(at->total()));
  if (report.clock_hz() > 0) {
    const double seconds = static_cast<double>(at->total()) / report.clock_hz();
    add("Time in a step", fixed_decimals(seconds * 1e3, 3) + " ms");
    add("Share of the step", this->index(index.row(), 5, index.parent()).data().toString() + " %");
  }
  if (at->node) {
    if (const report::Function* function = function_of(report, *at->node)) {
      add("Function", text(function->name()));
      add("Supersteps", grouped(function->steps()));
      add("Cycles of the function", grouped(function->cycles()));
    }
    const QString ipu = ipu_name(report, *at->node);
    if (!ipu.isEmpty()) add("IPU", ipu);
    if (at->node->children_size() > 0) add("Parts", grouped(at->node->children_size()));
  } else {
    const auto s = static_cast<std::size_t>(at->step);
    add("Counts to", text(steps_->term[s]));
    add("Compute cycles", grouped(steps_->compute_cycles[s]));
    add("Exchange cycles", grouped(steps_->exchange_cycles[s]));
    add("Sync cycles", grouped(steps_->sync_cycles[s]));
    add("Bytes moved by the IPU", grouped(steps_->bytes[s]));
    add("Live bytes, fullest tile", grouped(steps_->live_bytes[s]));
  }
  TableContents out;
  out.rows = static_cast<int>(facts->size());
  const auto fact = [facts](int row) -> const Fact& { return (*facts)[static_cast<std::size_t>(row)]; };
  out.columns = {{{"Fact", means::kFact}, false, [=](int row) { return fact(row).name; }},
                 {{"Value", means::kFactValue}, true, [=](int row) { return fact(row).value; }}};
  out.tip = [=](int row) { return fact(row).value; };
  return out;
}

QModelIndex ProgramModel::after(const QModelIndex& at) {
  if (canFetchMore(at)) fetchMore(at);
  if (rowCount(at) > 0) return index(0, 0, at);
  for (QModelIndex here = at; here.isValid(); here = here.parent()) {
    const QModelIndex next = index(here.row() + 1, 0, here.parent());
    if (next.isValid()) return next;
  }
  return {};
}

QModelIndex ProgramModel::lastBelow(QModelIndex at) {
  while (true) {
    if (canFetchMore(at)) fetchMore(at);
    const int rows = rowCount(at);
    if (rows == 0) return at;
    at = index(rows - 1, 0, at);
  }
}

QModelIndex ProgramModel::before(const QModelIndex& at) {
  if (!at.isValid()) return lastBelow({});
  return at.row() == 0 ? at.parent() : lastBelow(index(at.row() - 1, 0, at.parent()));
}

QModelIndex ProgramModel::find(const QString& text, const QModelIndex& from, bool forward) {
  if (text.isEmpty() || !root_ || root_->children.empty()) return {};
  const QRegularExpression wanted = search_pattern(text);
  const QModelIndex start = from.isValid() ? from.siblingAtColumn(0) : QModelIndex();
  QModelIndex at = start;
  bool wrapped = false;
  while (true) {
    at = forward ? after(at) : before(at);
    if (!at.isValid()) {  // the end: once more from the other one
      if (wrapped) return {};
      wrapped = true;
      at = forward ? index(0, 0) : lastBelow({});
    }
    if (name(*itemAt(at)).contains(wanted)) return at;
    if (wrapped && at == start) return {};
  }
}

TableContents program_table(const ReportPointer& report) {
  struct Line {
    const report::ProgramNode* node;
    int depth;
    std::int64_t times;
  };
  auto lines = std::make_shared<std::vector<Line>>();
  const std::function<void(const report::ProgramNode&, int, std::int64_t)> walk = [&](const report::ProgramNode& node,
                                                                                      int depth, std::int64_t times) {
    lines->push_back({&node, depth, times});
    const std::int64_t inner = times * std::max<std::int64_t>(1, node.count());
    for (const auto& child : node.children()) walk(child, depth + 1, inner);
  };
  if (report->index().has_program()) walk(report->index().program(), 0, 1);
  const auto line = [lines](int row) -> const Line& { return (*lines)[static_cast<std::size_t>(row)]; };
  const auto count = [=](int row) { return std::max<std::int64_t>(1, line(row).node->count()); };
  const auto number = [](const ColumnTitle& title, std::function<std::int64_t(int)> value) {
    return TableColumn{title, true, [=](int row) { return grouped(value(row)); },
                       [=](int row) { return exact(value(row)); }};
  };
  const auto kind = [=](int row) { return text(line(row).node->kind()); };
  TableContents out;
  out.rows = static_cast<int>(lines->size());
  out.columns = {number({"Depth", means::kDepth}, [=](int row) { return line(row).depth; }),
                 {.title = {"Program", means::kNode},
                  .text = [=, keep = report](int row) { return text(line(row).node->name()); },
                  .kind = kind},
                 {{"Kind", means::kNodeKind}, false, kind},
                 number({"Iterations", means::kIterations}, count),
                 number({"Cycles of one", means::kCyclesOfOne}, [=](int row) { return line(row).node->cycles(); }),
                 number({"Times", means::kTimes}, [=](int row) { return line(row).times; }),
                 number({"Cycles in total", means::kCyclesInTotal},
                        [=](int row) { return line(row).times * count(row) * line(row).node->cycles(); }),
                 {{"IPU", means::kIpu}, false, [=](int row) { return ipu_name(report->index(), *line(row).node); }}};
  return out;
}

}  // namespace superstep::gui
