// SPDX-License-Identifier: Apache-2.0
#include "gui/session/find.h"

#include <QRegularExpression>
#include <QSet>
#include <algorithm>

#include "gui/base/format.h"
#include "gui/models/search_pattern.h"
#include "traces/verdict.h"

namespace superstep::gui {
namespace {

QString text_of(const std::string& s) { return QString::fromStdString(s); }

class Search {
 public:
  Search(Session& session, const QString& text, std::size_t most)
      : session_(session), pattern_(search_pattern(text)), most_(most) {}

  std::vector<Found> take() { return std::move(found_); }

  void tile(const QString& text) {
    QString number = text;
    bool is_number = false;
    const qlonglong tile = number.remove("tile", Qt::CaseInsensitive).trimmed().toLongLong(&is_number);
    if (!is_number || tile < 0 || tile >= session_.heat()->tiles) return;
    Selection selection = session_.selection();
    selection.tile = tile;
    found_.push_back({"tile", QString("tile %1").arg(grouped(tile)), "heatmap", selection});
  }
  void layers() {
    of_kind_ = 0;
    for (const GraphUnit& unit : session_.graph()->units) {
      Selection selection = session_.selection();
      selection.ipu_class = unit.ipu_class, selection.op = text_of(unit.name);
      add("layer", text_of(unit.name), "graph", selection);
    }
  }
  void phases() {
    of_kind_ = 0;
    const auto heat = session_.heat();
    for (std::size_t i = 0; i < heat->phases.size() && !full(); ++i) {
      Selection selection = session_.selection();
      selection.ipu_class = heat->phases[i].ipu_class, selection.phase = static_cast<int>(i);
      add("phase", text_of(heat->phases[i].name), "heatmap", selection);
    }
  }
  // By the part of the name that equal layers share, as the table of operations has them.
  void operations() {
    of_kind_ = 0;
    for (const std::string& name : session_.steps()->name.texts) {
      if (full()) return;
      Selection selection = session_.selection();
      selection.op = text_of(name);
      add("operation", text_of(name), "operations", selection, text_of(name));
    }
  }
  void variables() {
    of_kind_ = 0;
    const auto variables = session_.variables();
    for (std::size_t i = 0; i < variables->name.size() && !full(); ++i) {
      Selection selection = session_.selection();
      selection.ipu_class = static_cast<int>(variables->ipu_class[i]);
      selection.category = text_of(variables->category[i]);
      const QString name = text_of(variables->name[i]);
      add("variable", name, "memory", selection, name);
    }
  }
  void terms() {
    of_kind_ = 0;
    for (const auto& term : session_.report()->index().waterfall()) {
      Selection selection = session_.selection();
      selection.term = text_of(term.name());
      add("term", text_of(term.name()), "summary", selection);
    }
  }
  void messages() {
    of_kind_ = 0;
    const report::Index& index = session_.report()->index();
    const auto message = [&](const std::string& words) {
      if (!words.empty()) add("message", for_viewer(words), "summary", session_.selection());
    };
    message(verdict_sentence(index));
    message(losses_sentence(index));
    message(validation_sentence(index));
    for (const auto& fact : index.facts()) message(fact.name() + ": " + fact.value());
    for (const auto& note : index.notes()) message(note);
  }
  void plans() {
    of_kind_ = 0;
    const report::Index& index = session_.report()->index();
    const auto plan = [&](const report::PlanSummary& p) {
      add("plan", text_of(p.label()), "landscape", session_.selection());
    };
    if (index.has_plan()) plan(index.plan());
    for (const auto& p : index.runners_up()) plan(p);
  }

 private:
  // Of each kind no more than a fifth, so that one does not hide the others.
  bool full() const { return found_.size() >= most_ || of_kind_ >= std::max<std::size_t>(1, most_ / 5); }
  void add(const char* kind, const QString& name, const char* view, const Selection& selection,
           const QString& filter = {}) {
    if (full() || !pattern_.match(name).hasMatch()) return;
    const QString once = QString(kind) + ' ' + name;
    if (known_.contains(once)) return;
    known_.insert(once);
    ++of_kind_;
    found_.push_back({kind, name, view, selection, filter});
  }

  Session& session_;
  QRegularExpression pattern_;
  std::size_t most_;
  QSet<QString> known_;
  std::size_t of_kind_ = 0;
  std::vector<Found> found_;
};

}  // namespace

std::vector<Found> find_everywhere(Session& session, const QString& text, std::size_t most) {
  const QString words = text.trimmed();
  if (words.isEmpty() || !session.report()) return {};
  Search search(session, words, most);
  search.tile(words);
  search.terms();
  search.layers();
  search.phases();
  search.operations();
  search.variables();
  search.plans();
  search.messages();
  return search.take();
}

void go_to(Session& session, const Found& found) {
  HeatState state = session.heatState();
  const bool other_ipu = state.ipu_class >= 0 && found.selection.ipu_class >= 0 &&
                         state.ipu_class != found.selection.ipu_class && found.view == "heatmap";
  if (other_ipu) {
    state.ipu_class = found.selection.ipu_class, state.window = {};
    session.setHeatState(state);
  }
  if (!found.filter.isEmpty()) session.setFilter(found.filter);
  session.select(found.selection);
}

}  // namespace superstep::gui
