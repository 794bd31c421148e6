// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "model/cost/cost.h"
#include "model/error.h"

namespace superstep {
namespace {

// What a walk over a subtree adds up.
struct Traversal {
  TermCycles time;
  std::int64_t generic = 0;
  Hosted hosted;
  std::map<std::int64_t, std::int64_t> busy;  // IPU group -> cycles
  std::map<std::pair<CollectiveKind, Term>, Timeline::Traffic> collectives;

  static Traversal of(const Step& s, const CostModel& model) {
    Traversal t;
    t.time = model.step(s);
    t.hosted = Hosted::of(s);
    if (s.generic) t.generic = t.total();
    if (s.kind == StepKind::collective) t.collectives[{s.collective, s.term}] = {s.times, s.tile_bytes * s.times};
    return t;
  }
  std::int64_t total() const { return time.total().value; }
  void add(const Traversal& o, std::int64_t times) {
    time += o.time * times;
    generic += o.generic * times;
    hosted.add(o.hosted, times);
    for (const auto& [ipu, cycles] : o.busy) busy[ipu] += cycles * times;
    add_traffic(o, times);
  }
  void add(Term term, std::int64_t cycles) { time[term] += cycles; }
  void add_traffic(const Traversal& o, std::int64_t times) {
    for (const auto& [key, traffic] : o.collectives) {
      collectives[key].count += traffic.count * times;
      collectives[key].bytes += traffic.bytes * times;
    }
  }
  void becomes(Term term) { time = time.as(term); }
  void note_busy(std::int64_t ipu) {
    if (ipu >= 0) busy[ipu] = std::max(busy[ipu], total());
  }
  // Branches run side by side: what counts whichever is the slowest.
  void add_beside(const Traversal& o) {
    hosted.add(o.hosted, 1);
    for (const auto& [ipu, cycles] : o.busy) busy[ipu] = std::max(busy[ipu], cycles);
  }
  void take_beside(Traversal o) { hosted = o.hosted, busy = std::move(o.busy); }
};

// How long a subtree takes. StepTimer adds up the same cycles, without what they are for.
class Clock {
 public:
  Clock(const Program& program, const CostModel& model) : m_(model) {
    for (const Function& f : program.functions) {
      Traversal sum;
      for (const Step& s : f.steps) sum.add(Traversal::of(s, model), 1);
      functions_.push_back(std::move(sum));
    }
  }

  Traversal node(const Node& n) const {
    switch (n.kind) {
      case Node::Kind::step:
        return Traversal::of(n.step, m_);
      case Node::Kind::call:
        return call(n);
      case Node::Kind::sequence:
        return sequence(n);
      case Node::Kind::parallel:
        return parallel(n);
      case Node::Kind::repeat:
        return repeat(n);
    }
    return {};
  }

 private:
  const CostModel& m_;
  std::vector<Traversal> functions_;

  Traversal call(const Node& n) const {
    Traversal sum = functions_[static_cast<std::size_t>(n.function.index)];
    if (n.recompute) sum.becomes(Term::recompute);
    return sum;
  }

  Traversal sequence(const Node& n) const {
    Traversal sum;
    for (const Node& c : n.children) sum.add(node(c), 1);
    sum.note_busy(n.ipu);
    return sum;
  }

  Traversal parallel(const Node& n) const {
    if (n.streams_beside()) return work_and_streams(n);
    Traversal slowest, beside;
    for (const Node& c : n.children) {
      Traversal sum = node(c);
      beside.add_beside(sum);
      if (slowest.total() < sum.total()) slowest = std::move(sum);
    }
    slowest.take_beside(std::move(beside));
    slowest.note_busy(n.ipu);
    return slowest;
  }

  // The work counts in full, and of what is streamed what the work does not hide.
  Traversal work_and_streams(const Node& n) const {
    Traversal both = node(n.children[0]);
    const Traversal streams = node(n.children[1]);
    both.time += streams.time.part(std::max<std::int64_t>(0, streams.total() - both.total()));
    both.add_traffic(streams, 1);
    both.add_beside(streams);
    both.note_busy(n.ipu);
    return both;
  }

  Traversal repeat(const Node& n) const {
    Traversal full;
    for (const Node& c : n.children) full.add(node(c), 1);
    Traversal sum;
    sum.add(full, n.micro_batches);
    // The iterations beyond one per micro-batch are the pipeline's fill and drain. They take as long as full
    // ones, although some calls have nothing to do: this fits measured runs of 16 to 192 micro-batches better.
    sum.add(Term::bubble, full.total() * (n.count - n.micro_batches));
    return sum;
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

}  // namespace

Hosted Hosted::of(const Step& s) {
  if (s.kind != StepKind::host) return {};
  const std::int64_t bytes = (s.tile_bytes * s.times).value;
  return {bytes, s.beside ? bytes : 0};
}

Cycles Hosted::wait(Cycles step, std::int64_t groups, const CostModel& model) const {
  const Cycles least = std::max(model.network(Bytes(moved), groups), model.host(Bytes(beside)));
  return std::max(Cycles(0), least - step) + model.host_copies(Bytes(moved), groups);
}

Timeline cost(const Program& program, const CostModel& model) {
  Traversal t = Clock(program, model).node(program.root);
  const auto groups = static_cast<std::int64_t>(program.ipus());
  t.add(Term::host, t.hosted.wait(Cycles(t.total()), groups, model).value);
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

TermCycles cost_of(const Node& node, const Program& program, const CostModel& model) {
  return Clock(program, model).node(node).time;
}

}  // namespace superstep
