// SPDX-License-Identifier: Apache-2.0
#include "model/ops/exact_reduce.h"

#include <algorithm>

namespace superstep::ops {

namespace {

using numerics::ExactSum;
using numerics::Half;

constexpr std::int64_t kTerms = 1024;  // loaded at a time
constexpr std::int64_t kSide = 16;     // columns summed side by side

void add_loop(std::vector<SumLoop>& loops, const SumLoop& loop) {
  if (loop.extent == 1) return;
  if (!loops.empty() && loops.back().in == loop.in * loop.extent && loops.back().out == loop.out * loop.extent)
    loops.back() = {loops.back().extent * loop.extent, loop.in, loop.out};
  else
    loops.push_back(loop);
}

template <class Real, class T>
void load_as(const T* from, std::int64_t step, std::int64_t n, bool squares, Real* to) {
  for (std::int64_t i = 0; i < n; ++i) {
    Real x;
    if constexpr (std::is_same_v<T, Half>)
      x = numerics::to_float(from[i * step]);
    else
      x = static_cast<Real>(from[i * step]);
    to[i] = squares ? x * x : x;
  }
}

// At most kTerms terms, where they are or loaded into `room`.
template <class Real>
const Real* load_terms(const ConstView& in, bool squares, std::int64_t first, std::int64_t step, std::int64_t n,
                       Real* room) {
  if (in.type == DType::fp16) {
    load_as(reinterpret_cast<const Half*>(in.data) + first, step, n, squares, room);
  } else if (in.type == DType::fp32) {
    const float* from = reinterpret_cast<const float*>(in.data) + first;
    if constexpr (std::is_same_v<Real, float>)
      if (step == 1) return from;
    load_as(from, step, n, squares, room);
  } else if constexpr (std::is_same_v<Real, double>) {
    load_row(in.data, in.type, first, step, n, room);
    if (squares) load_as(room, 1, n, true, room);
  }
  return room;
}

// Calls visit(in, out) with the elements at each point of some loops.
template <class Visit>
void each_point(std::span<const SumLoop> loops, std::int64_t in, std::int64_t out, Visit&& visit) {
  if (loops.empty()) return visit(in, out);
  for (std::int64_t i = 0; i < loops[0].extent; ++i)
    each_point(loops.subspan(1), in + i * loops[0].in, out + i * loops[0].out, visit);
}

// The terms of some sums side by side: those of sum j begin j * `side` further on.
template <class Real>
class Terms {
 public:
  Terms(const SumLoops& loops, const ConstView& in) : in_(in), squares_(loops.squares), outer_(loops.summed) {
    if (outer_.empty()) return;
    inner_ = outer_.back();
    outer_ = outer_.first(outer_.size() - 1);
  }

  void add_to(ExactSum<Real>* sums, std::int64_t count, std::int64_t first, std::int64_t side) {
    each_point(outer_, first, 0, [&](std::int64_t at, std::int64_t) {
      if (count > 1)
        add_columns(sums, count, at, side);
      else
        add_row(*sums, at);
    });
  }

 private:
  const ConstView& in_;
  bool squares_;
  std::span<const SumLoop> outer_;
  SumLoop inner_;
  Real room_[kTerms];
  Real turned_[kSide][kTerms / 4];

  void add_row(ExactSum<Real>& sum, std::int64_t first) {
    for (std::int64_t i = 0; i < inner_.extent; i += kTerms) {
      const std::int64_t n = std::min(kTerms, inner_.extent - i);
      sum.add(load_terms(in_, squares_, first + i * inner_.in, inner_.in, n, room_), n);
    }
  }

  void add_columns(ExactSum<Real>* sums, std::int64_t count, std::int64_t first, std::int64_t side) {
    for (std::int64_t i = 0; i < inner_.extent; i += kTerms / 4) {
      const std::int64_t n = std::min(kTerms / 4, inner_.extent - i);
      for (std::int64_t row = 0; row < n; ++row) {
        const Real* line = load_terms(in_, squares_, first + (i + row) * inner_.in, side, count, room_);
        for (std::int64_t j = 0; j < count; ++j) turned_[j][row] = line[j];
      }
      for (std::int64_t j = 0; j < count; ++j) sums[j].add(turned_[j], n);
    }
  }
};

// Sums whose terms lie side by side are made together: the innermost kept axis in groups, if it is the innermost of
// all.
struct Groups {
  std::vector<SumLoop> loops;  // over groups
  SumLoop columns;             // within one
  std::int64_t count = 1;

  explicit Groups(const SumLoops& all) : loops(all.kept) {
    const bool side_by_side = !all.kept.empty() && (all.summed.empty() || all.kept.back().in < all.summed.back().in);
    if (side_by_side) {
      columns = loops.back();
      loops.back() = {ceil_div(columns.extent, kSide), columns.in * kSide, columns.out * kSide};
    }
    for (const SumLoop& loop : loops) count *= loop.extent;
  }

  // visit(in, out, columns of the group) for groups [begin, end).
  template <class Visit>
  void each(const SumLoops& all, std::int64_t begin, std::int64_t end, Visit&& visit) const {
    for (std::int64_t group = begin; group < end; ++group) {
      std::int64_t in = all.in, out = all.out, rest = group, last = 0;
      for (std::size_t i = loops.size(); i-- > 0;) {
        const std::int64_t at = rest % loops[i].extent;
        if (i + 1 == loops.size()) last = at;
        rest /= loops[i].extent;
        in += at * loops[i].in;
        out += at * loops[i].out;
      }
      visit(in, out, columns.extent == 1 ? 1 : std::min(kSide, columns.extent - last * kSide));
    }
  }
};

template <class Real>
void add_all(const SumLoops& loops, const ConstView& in, std::vector<ExactSum<Real>>& sums) {
  const Groups groups(loops);
  Terms<Real> terms(loops, in);
  groups.each(loops, 0, groups.count, [&](std::int64_t first, std::int64_t out, std::int64_t count) {
    if (groups.columns.out == 1 || count == 1) {
      terms.add_to(sums.data() + out, count, first, groups.columns.in);
    } else {
      for (std::int64_t j = 0; j < count; ++j)
        terms.add_to(sums.data() + out + j * groups.columns.out, 1, first + j * groups.columns.in, 0);
    }
  });
}

template <class Real>
void finish_all(const SumLoops& loops, const ConstView& in, const OpCall& call, const View& out, numerics::Team& team) {
  const Groups groups(loops);
  team.run([&](int member, numerics::Workspace&) {
    const std::int64_t begin = groups.count * member / team.size(), end = groups.count * (member + 1) / team.size();
    Terms<Real> terms(loops, in);
    groups.each(loops, begin, end, [&](std::int64_t first, std::int64_t to, std::int64_t count) {
      ExactSum<Real> sums[kSide];
      terms.add_to(sums, count, first, groups.columns.in);
      for (std::int64_t j = 0; j < count; ++j)
        store_element(out.data, out.type, to + j * groups.columns.out, finished(call, sums[j].to_double_sum()));
    });
  });
}

}  // namespace

SumLoops sum_loops(const Space& space, const Block& block, const Block& in, const Block& out) {
  const Strided from = follow(space.in[0], in, block), to = follow(space.out[0], out, block);
  SumLoops loops;
  loops.in = from.base;
  loops.out = to.base;
  for (std::size_t i = 0; i < block.size(); ++i) {
    const bool summed = space.axes[i].kind == AxisKind::reduce;
    add_loop(summed ? loops.summed : loops.kept, {block[i].extent(), from.step[i], to.step[i]});
  }
  return loops;
}

bool sums_are_of_floats(DType operand, bool squares) {
  return !squares && (operand == DType::fp16 || operand == DType::fp32);
}

void add_to(const SumLoops& loops, const ConstView& in, std::vector<ExactSum<float>>& sums) {
  add_all(loops, in, sums);
}
void add_to(const SumLoops& loops, const ConstView& in, std::vector<ExactSum<double>>& sums) {
  add_all(loops, in, sums);
}

void sum_into(const SumLoops& loops, const ConstView& in, const OpCall& call, const View& out, numerics::Team& team) {
  if (sums_are_of_floats(in.type, loops.squares))
    finish_all<float>(loops, in, call, out, team);
  else
    finish_all<double>(loops, in, call, out, team);
}

double finished(const OpCall& call, double sum) { return call.def.finish ? call.def.finish(call, sum) : sum; }

}  // namespace superstep::ops
