// SPDX-License-Identifier: Apache-2.0
// The convolutions as matrix products whose operands are read where they lie: for each place and each tap of the window
// an offset is listed (numerics::Matrix). Steps of the contraction are, in this order,
//   conv              c, taps     an element of the padding is a step with an operand of zero
//   conv_weight_grad  n, positions
//   conv_input_grad   o, taps     so is one that no window reaches because of a stride
// Only a 1 x 1 window's gradient leaves such positions out: all their steps are zero.
#include <algorithm>
#include <array>

#include "model/error.h"
#include "model/ops/conv_geometry.h"
#include "model/ops/product.h"
#include "model/ops/space.h"

namespace superstep::ops {

namespace {

using Ranges = std::array<Range, kSpatial>;
using Offsets = std::vector<std::int64_t>;

// Where the elements of a region lie: two dimensions, then three spatial ones, in coordinates of the whole tensor.
struct Placed {
  Range outer[2];
  std::int64_t outer_step[2];
  Ranges range{{{0, 1}, {0, 1}, {0, 1}}};
  Extents step{0, 0, 0};

  explicit Placed(const Block& region) {
    const std::vector<std::int64_t> steps = row_major(region);
    for (std::size_t i = 0; i < 2; ++i) outer[i] = region[i], outer_step[i] = steps[i];
    const std::size_t dims = region.size() - 2;
    for (std::size_t d = 0; d < dims; ++d) {
      range[kSpatial - dims + d] = region[2 + d];
      step[kSpatial - dims + d] = steps[2 + d];
    }
  }
  std::int64_t at(std::int64_t a, std::int64_t b) const {
    return (a - outer[0].begin) * outer_step[0] + (b - outer[1].begin) * outer_step[1];
  }
};

// One spatial dimension of what a product reads: element place * stride + tap * dilation of a line that starts at
// `low` and has an element of the operand every `holes` places, from 0 on.
struct Line {
  std::int64_t places = 1, taps = 1;
  std::int64_t stride = 1, dilation = 1;
  std::int64_t low = 0, holes = 1;
  std::int64_t extent() const { return (places - 1) * stride + (taps - 1) * dilation + 1; }
  bool reads(std::int64_t rest) const {  // a remainder by the stride that some tap has
    for (std::int64_t tap = 0; tap < taps; ++tap)
      if (tap * dilation % stride == rest) return true;
    return false;
  }
};
using Lines = std::array<Line, kSpatial>;

// Samples and channels of an operand with everything that `lines` reads, padding and holes as zeros: where it is, or
// copied. In a copy, elements of the last line that have the same remainder by its stride are neighbours.
template <class T>
struct Spread {
  const T* data = nullptr;
  std::int64_t sample = 0, channel = 0;
  Offsets places, taps;

  Spread(const T* from, const Placed& placed, const Range& n, const Range& channels, const Lines& lines) {
    bool inside = lines[2].stride == 1;
    for (std::size_t d = 0; d < kSpatial; ++d) {
      const Line& l = lines[d];
      inside = inside && l.holes == 1 && l.low >= placed.range[d].begin && l.low + l.extent() <= placed.range[d].end;
    }
    from += placed.at(n.begin, channels.begin);
    if (inside) {
      data = from;
      for (std::size_t d = 0; d < kSpatial; ++d) data += (lines[d].low - placed.range[d].begin) * placed.step[d];
      sample = placed.outer_step[0], channel = placed.outer_step[1];
      list(lines, placed.step, 0);
    } else {
      copy(from, placed, n.extent(), channels.extent(), lines);
    }
  }

 private:
  std::vector<T> own_;

  // `phase` elements of the last line have the same remainder; 0: they are a stride apart.
  void list(const Lines& lines, const Extents& step, std::int64_t phase) {
    const auto last = [&](std::int64_t element) {
      return phase == 0 ? element * step[2] : element % lines[2].stride * phase + element / lines[2].stride;
    };
    for (std::int64_t i = 0; i < lines[0].places; ++i) {
      for (std::int64_t j = 0; j < lines[1].places; ++j) {
        const std::int64_t row = i * lines[0].stride * step[0] + j * lines[1].stride * step[1];
        for (std::int64_t k = 0; k < lines[2].places; ++k) places.push_back(row + last(k * lines[2].stride));
      }
    }
    for (std::int64_t i = 0; i < lines[0].taps; ++i) {
      for (std::int64_t j = 0; j < lines[1].taps; ++j) {
        const std::int64_t row = i * lines[0].dilation * step[0] + j * lines[1].dilation * step[1];
        for (std::int64_t k = 0; k < lines[2].taps; ++k) taps.push_back(row + last(k * lines[2].dilation));
      }
    }
  }

  void copy(const T* from, const Placed& placed, std::int64_t samples, std::int64_t channels, const Lines& lines) {
    const std::int64_t phase = ceil_div(lines[2].extent(), lines[2].stride), width = phase * lines[2].stride;
    const Extents step{lines[1].extent() * width, width, 1};
    channel = lines[0].extent() * step[0];
    sample = channels * channel;
    list(lines, step, phase);
    own_.resize(static_cast<std::size_t>(samples * sample));
    data = own_.data();
    for (std::int64_t n = 0; n < samples; ++n) {
      for (std::int64_t c = 0; c < channels; ++c) {
        const T* source = from + n * placed.outer_step[0] + c * placed.outer_step[1];
        T* target = own_.data() + n * sample + c * channel;
        each_element(placed, lines, 0, [&](std::int64_t i, std::int64_t plane) {
          each_element(placed, lines, 1, [&](std::int64_t j, std::int64_t row) {
            copy_line(source + plane + row, placed, lines[2], phase, target + i * step[0] + j * step[1]);
          });
        });
      }
    }
  }

  // visit(element of the line, offset in the operand) for the elements that there are and some tap reads.
  template <class Visit>
  static void each_element(const Placed& placed, const Lines& lines, std::size_t d, Visit&& visit) {
    const Line& l = lines[d];
    for (std::int64_t i = 0; i < l.extent(); ++i) {
      const std::int64_t place = l.low + i;
      if (place < 0 || place % l.holes != 0 || !l.reads(i % l.stride)) continue;
      const std::int64_t own = place / l.holes;
      if (own >= placed.range[d].begin && own < placed.range[d].end)
        visit(i, (own - placed.range[d].begin) * placed.step[d]);
    }
  }

  static void copy_line(const T* from, const Placed& placed, const Line& l, std::int64_t phase, T* to) {
    for (std::int64_t rest = 0; rest < l.stride; ++rest) {
      if (!l.reads(rest)) continue;
      // Elements rest + i stride of the line, i from `begin` up to `end`, that lie within the operand.
      const std::int64_t first = l.low + rest, range_begin = placed.range[2].begin * l.holes,
                         range_end = (placed.range[2].end - 1) * l.holes + 1;
      const std::int64_t begin = first >= range_begin ? 0 : ceil_div(range_begin - first, l.stride);
      const std::int64_t end = range_end <= first ? 0 : std::min(phase, ceil_div(range_end - first, l.stride));
      const T* source = from - placed.range[2].begin * placed.step[2];
      T* target = to + rest * phase;
      if (l.holes == 1) {
        for (std::int64_t i = begin; i < end; ++i) target[i] = source[(first + i * l.stride) * placed.step[2]];
        continue;
      }
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t place = first + i * l.stride;
        if (place % l.holes == 0) target[i] = source[place / l.holes * placed.step[2]];
      }
    }
  }
};

// Outer offsets and inner ones, all sums, the inner going faster.
Offsets combined(const Offsets& outer, const Offsets& inner) {
  Offsets all;
  all.reserve(outer.size() * inner.size());
  for (std::int64_t o : outer)
    for (std::int64_t i : inner) all.push_back(o + i);
  return all;
}
Offsets multiples(std::int64_t count, std::int64_t step) {
  Offsets all;
  for (std::int64_t i = 0; i < count; ++i) all.push_back(i * step);
  return all;
}

// Offsets as a step where they have one.
struct Steps {
  std::int64_t step = 0;
  const std::int64_t* at = nullptr;
  explicit Steps(const Offsets& offsets) {
    if (offsets.size() > 1) step = offsets[1];
    for (std::size_t i = 0; i < offsets.size(); ++i)
      if (offsets[i] != static_cast<std::int64_t>(i) * step) at = offsets.data();
  }
};
template <class T>
numerics::Matrix<T> matrix(T* data, const Offsets& rows, const Offsets& columns) {
  const Steps r(rows), c(columns);
  return {data, r.step, c.step, 0, r.at, c.at};
}

Offsets window_offsets(const Placed& w, const Ranges& k) {
  Offsets all;
  for (std::int64_t a = k[0].begin; a < k[0].end; ++a) {
    for (std::int64_t b = k[1].begin; b < k[1].end; ++b) {
      for (std::int64_t c = k[2].begin; c < k[2].end; ++c) {
        all.push_back((a - w.range[0].begin) * w.step[0] + (b - w.range[1].begin) * w.step[1] +
                      (c - w.range[2].begin) * w.step[2]);
      }
    }
  }
  return all;
}

Offsets position_offsets(const Placed& y, const Ranges& positions) { return window_offsets(y, positions); }

struct Points {
  Range n, group, o, c;
  Ranges y, k;
  Range channels(std::int64_t of_a_group, const Range& within) const {
    return {group.begin * of_a_group + within.begin, (group.end - 1) * of_a_group + within.end};
  }
};

Points points_of(const ConvGeometry& g, const Block& block) {
  return {block[kConvN],
          block[kConvG],
          block[kConvO],
          block[kConvC],
          spatial_ranges(block, kConvPositions, g.windows.dims),
          spatial_ranges(block, kConvPositions + g.windows.dims, g.windows.dims)};
}

// The lines of x that windows at positions y read.
Lines window_lines(const Windows& w, const Ranges& y, const Ranges& k) {
  Lines lines;
  for (std::size_t d = 0; d < kSpatial; ++d)
    lines[d] = {y[d].extent(), k[d].extent(), w.stride[d], w.dilation[d], w.source(d, y[d].begin, k[d].begin), 1};
  return lines;
}

template <class T>
using Result = ResultValues<numerics::SumOf<T>>;

// y[n, o, places] = sum over c, taps of w[o, c, taps] x[n, c, places and taps]
template <class T>
void forward(const ConvGeometry& g, const Points& p, const T* x_data, const Placed& x_at, const T* w_data,
             const Placed& w_at, Result<T>& result, const KernelContext& context) {
  const Spread<T> x(x_data, x_at, p.n, p.channels(g.in_channels(), p.c), window_lines(g.windows, p.y, p.k));
  const Placed y_at(result.region());
  const Offsets filters = multiples(p.o.extent(), w_at.outer_step[0]);
  const Offsets w_steps = combined(multiples(p.c.extent(), w_at.outer_step[1]), window_offsets(w_at, p.k));
  const Offsets x_steps = combined(multiples(p.c.extent(), x.channel), x.taps);
  // Columns are the places of all samples, so that filters are packed once for all.
  const Offsets columns = combined(multiples(p.n.extent(), x.sample), x.places);
  const Offsets targets = combined(multiples(p.n.extent(), y_at.outer_step[0]), multiples(std::ssize(x.places), 1));
  const Offsets y_rows = multiples(p.o.extent(), y_at.outer_step[1]);
  const ContractionPart part = part_of(context, std::ssize(x_steps));
  const numerics::Product product{1,         p.o.extent(),     std::ssize(columns), part.tree,
                                  part.node, context.partials, context.overflow,    context.blas};
  for (std::int64_t group = 0; group < p.group.extent(); ++group) {
    const std::int64_t o = p.group.begin * g.out_channels() + p.o.begin + group * g.out_channels();
    run_product<T>(context, product, matrix(w_data + w_at.at(o, p.c.begin), filters, w_steps),
                   matrix(x.data + group * g.in_channels() * x.channel, x_steps, columns),
                   matrix(result.data() + group * g.out_channels() * y_at.outer_step[1], y_rows, targets));
  }
}

// w[o, c, taps] = sum over n, places of y[n, o, places] x[n, c, places and taps]
template <class T>
void weight_gradient(const ConvGeometry& g, const Points& p, const T* x_data, const Placed& x_at, const T* y_data,
                     const Placed& y_at, Result<T>& result, const KernelContext& context) {
  const Spread<T> x(x_data, x_at, p.n, p.channels(g.in_channels(), p.c), window_lines(g.windows, p.y, p.k));
  const Placed w_at(result.region());
  const Offsets filters = multiples(p.o.extent(), y_at.outer_step[1]);
  const Offsets y_steps = combined(multiples(p.n.extent(), y_at.outer_step[0]), position_offsets(y_at, p.y));
  const Offsets x_steps = combined(multiples(p.n.extent(), x.sample), x.places);
  const Offsets columns = combined(multiples(p.c.extent(), x.channel), x.taps);
  const ContractionPart part = part_of(context, std::ssize(x_steps));
  const numerics::Product product{1,         p.o.extent(),     std::ssize(columns), part.tree,
                                  part.node, context.partials, context.overflow,    context.blas};
  for (std::int64_t group = 0; group < p.group.extent(); ++group) {
    const std::int64_t o = p.group.begin * g.out_channels() + p.o.begin + group * g.out_channels();
    run_product<T>(context, product, matrix(y_data + y_at.at(p.n.begin, o), filters, y_steps),
                   matrix(x.data + group * g.in_channels() * x.channel, x_steps, columns),
                   {result.data() + group * g.out_channels() * w_at.outer_step[0], w_at.outer_step[0]});
  }
}

// The lines of y, its elements a stride apart, that positions x read: y stride = x + pad - k dilation, so that the last
// tap is the first element. A place of a 1 x 1 window is a stride from the next: those between read nothing.
Lines gradient_lines(const Windows& w, const Ranges& x, const Ranges& k, bool single) {
  Lines lines;
  for (std::size_t d = 0; d < kSpatial; ++d) {
    const std::int64_t low = x[d].begin + w.pad[d] - (k[d].end - 1) * w.dilation[d];
    lines[d] = {x[d].extent(), k[d].extent(), 1, w.dilation[d], low, w.stride[d]};
    if (!single) continue;
    const std::int64_t first = ceil_div(std::max<std::int64_t>(low, 0), w.stride[d]);
    const std::int64_t end = x[d].end + w.pad[d];
    lines[d] = {std::max<std::int64_t>(ceil_div(end, w.stride[d]) - first, 0), 1, 1, 1, first, 1};
  }
  return lines;
}

// x[n, c, places] = sum over o, taps of w[o, c, taps] y[n, o, places and taps]
template <class T>
void input_gradient(const ConvGeometry& g, const Points& p, const T* y_data, const Placed& y_at, const T* w_data,
                    const Placed& w_at, Result<T>& result, const KernelContext& context) {
  using Real = numerics::SumOf<T>;
  const Windows& w = g.windows;
  const Placed x_at(result.region());
  const bool holes = w.stride != Extents{1, 1, 1};
  const bool single = holes && w.window == Extents{1, 1, 1};
  const Lines lines = gradient_lines(w, x_at.range, p.k, single);
  Spread<T> y(y_data, y_at, p.n, p.channels(g.out_channels(), p.o), lines);
  std::reverse(y.taps.begin(), y.taps.end());
  const Offsets w_steps = combined(multiples(p.o.extent(), w_at.outer_step[0]), window_offsets(w_at, p.k));
  const Offsets channels = multiples(p.c.extent(), w_at.outer_step[1]);
  const Offsets y_steps = combined(multiples(p.o.extent(), y.channel), y.taps);
  const ContractionPart part = part_of(context, std::ssize(y_steps));
  const std::int64_t places = std::ssize(y.places), rows = p.c.extent(), samples = p.n.extent();
  const Offsets columns = combined(multiples(samples, y.sample), y.places);
  const Offsets x_columns = combined(multiples(samples, x_at.outer_step[0]), multiples(places, 1));
  const Offsets x_rows = multiples(rows, x_at.outer_step[1]);
  const numerics::Product product{
      1, rows, samples * places, part.tree, part.node, context.partials, context.overflow, context.blas};
  std::vector<Real> apart(single ? static_cast<std::size_t>(samples * rows * places) : 0);
  if (single) std::fill_n(result.data(), volume(result.region()), Real{0});
  for (std::int64_t group = 0; group < p.group.extent(); ++group) {
    const std::int64_t o = (p.group.begin + group) * g.out_channels() + p.o.begin;
    Real* to = result.data() + group * g.in_channels() * x_at.outer_step[1];
    const auto a = matrix(w_data + w_at.at(o, p.c.begin), channels, w_steps);
    const auto b = matrix(y.data + group * g.out_channels() * y.channel, y_steps, columns);
    if (!single) {
      run_product<T>(context, product, a, b, matrix(to, x_rows, x_columns));
      continue;
    }
    run_product<T>(context, product, a, b, {apart.data(), samples * places});
    Offsets targets;
    for (std::int64_t i = 0; i < lines[0].places; ++i)
      for (std::int64_t j = 0; j < lines[1].places; ++j)
        for (std::int64_t k = 0; k < lines[2].places; ++k) {
          const Extents at{i, j, k};
          std::int64_t target = 0;
          for (std::size_t d = 0; d < kSpatial; ++d)
            target += ((lines[d].low + at[d]) * w.stride[d] - w.pad[d] - x_at.range[d].begin) * x_at.step[d];
          targets.push_back(target);
        }
    const Real* from = apart.data();
    for (std::int64_t c = 0; c < rows; ++c)
      for (std::int64_t n = 0; n < samples; ++n)
        for (std::int64_t target : targets) to[n * x_at.outer_step[0] + c * x_at.outer_step[1] + target] = *from++;
  }
}

}  // namespace

void conv_kernel(const OpCall& call, const Block& block, std::span<const ConstView> in, std::span<const View> out,
                 const KernelContext& context) {
  const ConvGeometry g = conv_geometry(call);
  const Block written = project(conv_space(call).out[0], call.out[0].shape, block);
  if (volume(written) == 0) return;
  const Points p = points_of(g, block);
  const Placed first_at(in[0].region), second_at(in[1].region);
  with_product_type(in[0].type, in[1].type, [&]<class T>(T) {
    const OperandValues<T> first(in[0]), second(in[1]);
    Result<T> result(out[0], written);
    const auto run = g.role == ConvRole::forward       ? forward<T>
                     : g.role == ConvRole::weight_grad ? weight_gradient<T>
                                                       : input_gradient<T>;
    run(g, p, first.data(), first_at, second.data(), second_at, result, context);
    result.keep();
  });
}

}  // namespace superstep::ops
