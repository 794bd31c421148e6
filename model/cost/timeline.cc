// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "model/cost/cost.h"
#include "model/error.h"

namespace superstep {
namespace {

struct Traversal {
  TermCycles time;
  std::int64_t generic = 0, fed = 0;          // fed: bytes from the host
  std::map<std::int64_t, std::int64_t> busy;  // IPU group -> cycles
  std::map<std::pair<CollectiveKind, Term>, Timeline::Traffic> collectives;

  void add(const Traversal& o, std::int64_t times) {
    time += o.time * times;
    generic += o.generic * times;
    fed += o.fed * times;
    for (const auto& [ipu, cycles] : o.busy) busy[ipu] += cycles * times;
    for (const auto& [key, traffic] : o.collectives) {
      collectives[key].count += traffic.count * times;
      collectives[key].bytes += traffic.bytes * times;
    }
  }
};

class Clock {
 public:
  // `time_alone`: neither what each IPU group does nor what collectives move.
  Clock(const Program& program, const CostModel& model, bool time_alone)
      : p_(program), m_(model), time_alone_(time_alone) {
    for (const Function& f : program.functions) {
      Traversal t;
      for (const Step& s : f.steps) t.add(of_step(s), 1);
      functions_.push_back(std::move(t));
    }
  }

  Traversal node(const Node& n) const {
    switch (n.kind) {
      case Node::Kind::step:
        return of_step(n.step);
      case Node::Kind::call:
        return call(n);
      case Node::Kind::sequence: {
        Traversal t;
        for (const Node& c : n.children) t.add(node(c), 1);
        note_busy(n, t);
        return t;
      }
      case Node::Kind::parallel:
        return parallel(n);
      case Node::Kind::repeat:
        return repeat(n);
    }
    return {};
  }

 private:
  const Program& p_;
  const CostModel& m_;
  bool time_alone_;
  std::vector<Traversal> functions_;

  Traversal of_step(const Step& s) const {
    Traversal t;
    t.time = m_.step(s);
    if (s.kind == StepKind::host) t.fed = (s.tile_bytes * s.times).value;
    if (s.generic) t.generic = t.time.total().value;
    if (s.kind == StepKind::collective && !time_alone_)
      t.collectives[{s.collective, s.term}] = {s.times, s.tile_bytes * s.times};
    return t;
  }

  Traversal call(const Node& n) const {
    Traversal t = functions_[static_cast<std::size_t>(n.function.index)];
    if (n.recompute) t.time = t.time.as(Term::recompute);
    return t;
  }

  void note_busy(const Node& n, Traversal& t) const {
    if (n.ipu >= 0 && !time_alone_) t.busy[n.ipu] = std::max(t.busy[n.ipu], t.time.total().value);
  }

  Traversal parallel(const Node& n) const {
    Traversal slowest;
    std::map<std::int64_t, std::int64_t> busy;
    std::int64_t fed = 0;
    for (const Node& c : n.children) {
      Traversal t = node(c);
      fed += t.fed;
      for (const auto& [ipu, cycles] : t.busy) busy[ipu] = std::max(busy[ipu], cycles);
      if (slowest.time.total() < t.time.total()) slowest = std::move(t);
    }
    slowest.busy = std::move(busy);
    slowest.fed = fed;
    note_busy(n, slowest);
    return slowest;
  }

  Traversal repeat(const Node& n) const {
    Traversal full;
    for (const Node& c : n.children) full.add(node(c), 1);
    Traversal t;
    t.add(full, n.micro_batches);
    // The iterations beyond one per micro-batch are the pipeline's fill and drain. They take as long as full
    // ones, although some calls have nothing to do: this fits measured runs of 16 to 192 micro-batches better.
    t.time[Term::bubble] += full.time.total().value * (n.count - n.micro_batches);
    return t;
  }
};

// Follows what stays between a forward call that keeps and its backward call, on each IPU group, beside
// what its phase holds.
class MemoryWalk {
 public:
  MemoryWalk(const Program& program) : p_(program), peak_(program.ipus()), held_(program.ipus()) {
    for (const std::vector<Residents>& phases : program.residents) {
      residents_.push_back(*std::max_element(
          phases.begin(), phases.end(), [](const Residents& a, const Residents& b) { return a.total() < b.total(); }));
    }
  }

  void visit(const Node& n, std::int64_t ipu, std::int64_t phase) {
    if (n.ipu >= 0) ipu = n.ipu;
    if (n.phase >= 0) phase = n.phase;
    if (n.kind == Node::Kind::call && ipu >= 0) call(n, static_cast<std::size_t>(ipu), static_cast<std::size_t>(phase));
    for (const Node& c : n.children) visit(c, ipu, phase);
  }
  void take(Timeline& out) {
    out.residents = std::move(residents_);
    out.transient = std::move(peak_);
  }

 private:
  struct Held {
    UnitId unit;
    Bytes bytes;
  };
  const Program& p_;
  std::vector<Residents> residents_;
  std::vector<Transient> peak_;
  std::vector<std::vector<Held>> held_;
  std::int64_t calls_ = 0;

  void call(const Node& n, std::size_t ipu, std::size_t phase) {
    const Function& f = p_.functions[n.function];
    Bytes base(0);
    for (const Held& h : held_[ipu]) base += h.bytes;
    const Bytes highest = n.keeps ? f.peak_keeping : f.peak;
    const Residents& stands = p_.residents[ipu][phase];
    if (stands.total() + base + highest > residents_[ipu].total() + peak_[ipu].total()) {
      residents_[ipu] = stands;
      set_peak(ipu, n, base, highest);
    }
    ++calls_;
    if (n.keeps) held_[ipu].push_back({n.unit, f.kept + (n.keeps_results ? f.crossing : Bytes(0))});
    if (f.pass == Pass::backward && !held_[ipu].empty() && held_[ipu].back().unit == n.unit) held_[ipu].pop_back();
  }

  void set_peak(std::size_t ipu, const Node& n, Bytes base, Bytes highest) {
    const Function& f = p_.functions[n.function];
    Transient& t = peak_[ipu];
    t.function = n.function;
    t.call = calls_;
    t.temporaries = Bytes(0);
    Bytes most(-1);
    for (std::size_t i = 0; i < f.steps.size(); ++i) {
      const Step& s = f.steps[i];
      if (const Bytes stands = s.live + s.temporary + (n.keeps ? s.keeping : Bytes(0)); stands > most) {
        most = stands;
        t.step = static_cast<std::int64_t>(i);
        t.temporaries = s.temporary;
      }
    }
    t.activations = base + highest - t.temporaries;
  }
};

// With the wait for the host.
Traversal whole_step(const Program& program, const CostModel& model, bool time_alone) {
  Traversal t = Clock(program, model, time_alone).node(program.root);
  const auto groups = static_cast<std::int64_t>(program.ipus());
  const Bytes fed(t.fed);
  const Cycles waits = std::max(Cycles(0), model.network(fed, groups) - t.time.total());
  t.time[Term::host] += (waits + model.host_copies(fed, groups)).value;
  return t;
}

}  // namespace

Timeline cost(const Program& program, const CostModel& model) {
  Traversal t = whole_step(program, model, false);
  Timeline out;
  out.step = t.time;
  out.generic = Cycles(t.generic);
  out.collectives = std::move(t.collectives);
  for (std::size_t i = 0; i < program.ipus(); ++i) out.busy.push_back(Cycles(t.busy[static_cast<std::int64_t>(i)]));
  MemoryWalk memory(program);
  memory.visit(program.root, -1, 0);
  memory.take(out);
  return out;
}

Cycles step_cycles(const Program& program, const CostModel& model) {
  return whole_step(program, model, true).time.total();
}

TermCycles cost_of(const Node& node, const Program& program, const CostModel& model) {
  return Clock(program, model, true).node(node).time;
}

}  // namespace superstep
