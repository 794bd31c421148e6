// SPDX-License-Identifier: Apache-2.0
// Lookups, updates, and slices whose places are operands.
#include <algorithm>
#include <numeric>

#include "model/xla/writer.h"

namespace superstep::xla_import {

namespace {

using List = google::protobuf::RepeatedField<std::int64_t>;

bool contains(const List& list, std::int64_t d) { return std::ranges::find(list, d) != list.end(); }

constexpr std::int32_t kInt64 = 7;

std::string as_int64(Writer& w, const std::string& tensor, std::int32_t type) {
  return onnx_type(type) == kInt64 ? tensor : w.add("Cast", {tensor}, {{"to", std::int64_t{kInt64}}});
}

// Places outside move to the nearest place inside. `last`: the largest place, or one per index of a tuple.
std::string clamped(Writer& w, const std::string& places, const Extents& last, bool list) {
  const std::string most = list ? w.integers(last) : w.add("Squeeze", {w.integers(last)});
  return w.add("Min", {w.add("Max", {places, w.add("Squeeze", {w.integers({0})})}), most});
}

// Dimensions of the operand, of the indices, and of the result, as a gather or scatter names them.
struct Places {
  Extents batch, tuple, rest;           // of the operand: beside those of the indices, indexed, whole
  Extents index_batch, index_rest;      // of the indices; behind these comes the tuple
  std::int64_t vector = 0;              // dimension of the indices that holds the tuple; their rank: none
  Extents result_batch, result_window;  // of the result, or of a scatter's updates
};

Extents others(std::int64_t rank, const auto& in_none_of) {
  Extents out;
  for (std::int64_t d = 0; d < rank; ++d) {
    if (!in_none_of(d)) out.push_back(d);
  }
  return out;
}

// The indices as [batch.., rest.., tuple], int64 and inside of the operand.
std::string indices(Call& c, const Value& given, const Value& operand, const Places& p, bool inside) {
  const auto rank = static_cast<std::int64_t>(given.shape.size());
  Extents order = p.index_batch;
  order.insert(order.end(), p.index_rest.begin(), p.index_rest.end());
  if (p.vector < rank) order.push_back(p.vector);
  std::string tensor = as_int64(c.w, transposed(c.w, c.w.full(given), order), given.type);
  if (p.vector == rank) tensor = c.w.add("Unsqueeze", {tensor, c.w.integers({rank})});
  Extents last;
  for (std::int64_t d : p.tuple) last.push_back(operand.shape.at(static_cast<std::size_t>(d)) - 1);
  return inside ? clamped(c.w, tensor, last, true) : tensor;
}

Extents joined(const Extents& a, const Extents& b) {
  Extents out = a;
  out.insert(out.end(), b.begin(), b.end());
  return out;
}

Places places_of(const Call& c, const auto& n, const List& removed, const List& batch, const List& tuple,
                 const List& window, std::int64_t result_rank) {
  const auto rank = static_cast<std::int64_t>(c.at(0).shape.size()),
             index_rank = static_cast<std::int64_t>(c.at(1).shape.size());
  Places p;
  p.batch = {batch.begin(), batch.end()};
  p.tuple = {tuple.begin(), tuple.end()};
  p.rest = others(rank, [&](std::int64_t d) { return contains(batch, d) || contains(tuple, d); });
  p.vector = n.index_vector_dim();
  p.result_window = {window.begin(), window.end()};
  p.result_batch = others(result_rank, [&](std::int64_t d) { return contains(window, d); });
  if (p.result_window.size() != p.rest.size()) throw std::out_of_range("dimension numbers");
  Extents sorted = p.tuple;
  std::ranges::sort(sorted);
  if (!std::ranges::equal(sorted, removed) || p.vector < 0 || p.vector > index_rank)
    throw Refusal{"its places are starts of slices, not elements; use an index of elements (take, one_hot)"};
  return p;
}

void note_index_dimensions(Places& p, const List& index_batch, std::int64_t index_rank) {
  p.index_batch = {index_batch.begin(), index_batch.end()};
  p.index_rest = others(index_rank, [&](std::int64_t d) { return d == p.vector || contains(index_batch, d); });
}

// One indexed dimension, and whole slices of the others: a lookup in a table.
Value lookup(Call& c, const Places& p) {
  const std::int64_t axis = p.tuple[0];
  const auto rank = static_cast<std::int64_t>(c.at(1).shape.size());
  std::string at = as_int64(c.w, c.w.full(c.at(1)), c.at(1).type);
  if (p.vector < rank) at = c.w.add("Squeeze", {at, c.w.integers({p.vector})});
  at = clamped(c.w, at, {c.at(0).shape.at(static_cast<std::size_t>(axis)) - 1}, false);
  const std::string found = c.w.add("Gather", {c.w.full(c.at(0)), at}, {{"axis", axis}});
  Extents to(p.result_window.begin(), p.result_window.begin() + axis);  // of each dimension found: where it goes
  to.insert(to.end(), p.result_batch.begin(), p.result_batch.end());
  to.insert(to.end(), p.result_window.begin() + axis, p.result_window.end());
  return c.result(transposed(c.w, found, inverse(to)));
}

Value gather(Call& c) {
  const auto& n = c.in.gather_dimension_numbers();
  for (std::int64_t d = 0; d < c.in.gather_slice_sizes_size(); ++d) {
    const std::int64_t size = c.in.gather_slice_sizes(static_cast<int>(d)),
                       extent = c.at(0).shape.at(static_cast<std::size_t>(d));
    const bool removed = contains(n.collapsed_slice_dims(), d) || contains(n.operand_batching_dims(), d);
    if (size != (removed ? 1 : extent))
      throw Refusal{"takes slices of a part of dimension " + std::to_string(d) +
                    "; take whole ones, or single elements"};
  }
  Places p = places_of(c, n, n.collapsed_slice_dims(), n.operand_batching_dims(), n.start_index_map(), n.offset_dims(),
                       static_cast<std::int64_t>(c.shape().size()));
  const auto index_rank = static_cast<std::int64_t>(c.at(1).shape.size());
  note_index_dimensions(p, n.start_indices_batching_dims(), index_rank);
  if (p.tuple.size() == 1 && p.batch.empty()) return lookup(c, p);
  const std::string data = transposed(c.w, c.w.full(c.at(0)), joined(joined(p.batch, p.tuple), p.rest));
  const std::string found = c.w.add("GatherND", {data, indices(c, c.at(1), c.at(0), p, true)},
                                    {{"batch_dims", static_cast<std::int64_t>(p.batch.size())}});
  // The result's batch dimensions are those of the indices in their order; ours have the batching ones first.
  Extents to;
  const Extents ours = joined(p.index_batch, p.index_rest);
  for (std::int64_t d : ours) to.push_back(p.result_batch.at(static_cast<std::size_t>(d - (p.vector < d ? 1 : 0))));
  return c.result(transposed(c.w, found, inverse(joined(to, p.result_window))));
}

Value scatter(Call& c) {
  const auto& n = c.in.scatter_dimension_numbers();
  if (c.operands.size() != 3) throw Refusal{"scatters several operands at once; scatter one"};
  if (!n.input_batching_dims().empty()) throw Refusal{"scatters batch by batch; give the batch as an index"};
  const Computation& by = c.program.called(c.in, 0);
  const Instruction& root = *c.program.order(by).back();
  const std::string reduction = root.opcode() == "parameter" ? "none" : c.reducer() == "add" ? "add" : c.reducer();
  if ((reduction != "none" && reduction != "add") || (reduction == "none" && root.parameter_number() != 1))
    throw Refusal{"scatters by \"" + reduction + "\"; sums and replacements are imported"};
  Places p = places_of(c, n, n.inserted_window_dims(), {}, n.scatter_dims_to_operand_dims(), n.update_window_dims(),
                       static_cast<std::int64_t>(c.at(2).shape.size()));
  note_index_dimensions(p, {}, static_cast<std::int64_t>(c.at(1).shape.size()));
  const Extents order = joined(p.tuple, p.rest);
  const std::string data = transposed(c.w, c.w.full(c.at(0)), order);
  const std::string updates = transposed(c.w, c.w.full(c.at(2)), joined(p.result_batch, p.result_window));
  const std::string out =
      c.w.add("ScatterND", {data, indices(c, c.at(1), c.at(0), p, false), updates}, {{"reduction", reduction}});
  return c.result(transposed(c.w, out, inverse(order)));
}

// Where a slice along a dimension begins: a known number, or a tensor.
std::string start_of(Call& c, const Value& start, std::int64_t last) {
  if (start.number)
    return c.w.integers({static_cast<std::int64_t>(std::max(0.0, std::min(static_cast<double>(last), *start.number)))});
  const std::string at = clamped(c.w, as_int64(c.w, c.w.full(start), start.type), {last}, false);
  return c.w.add("Unsqueeze", {at, c.w.integers({0})});
}

std::string counting(Writer& w, std::int64_t n) {
  constexpr std::int64_t kMost = 1 << 24;
  if (n > kMost) throw Refusal{"slices of more than 2^24 elements along a dimension"};
  Extents numbers(static_cast<std::size_t>(n));
  std::iota(numbers.begin(), numbers.end(), 0);
  return w.integers(numbers);
}

Value dynamic_slice(Call& c) {
  const Value& x = c.at(0);
  std::string y = c.w.full(x);
  const Extents sizes(c.in.dynamic_slice_sizes().begin(), c.in.dynamic_slice_sizes().end());
  for (std::size_t d = 0; d < x.shape.size(); ++d) {
    const std::int64_t size = sizes.at(d), extent = x.shape[d];
    const auto axis = static_cast<std::int64_t>(d);
    if (size < 0 || size > extent) throw std::out_of_range("sizes");
    if (size == extent) continue;
    const Value& start = c.at(d + 1);
    const std::string at = start_of(c, start, extent - size);
    if (start.number) {
      const std::string end = c.w.add("Add", {at, c.w.integers({size})});
      y = c.w.add("Slice", {y, at, end, c.w.integers({axis})});
    } else {
      y = c.w.add("Gather", {y, c.w.add("Add", {at, counting(c.w, size)})}, {{"axis", axis}});
    }
  }
  return c.result(y);
}

// Element i of the result along a dimension is element i - start of the update where there is one.
Value dynamic_update_slice(Call& c) {
  const Value &x = c.at(0), &update = c.at(1);
  std::string y = c.w.full(update), inside;
  const auto rank = static_cast<std::int64_t>(x.shape.size());
  for (std::int64_t d = 0; d < rank; ++d) {
    const std::int64_t size = update.shape.at(static_cast<std::size_t>(d)),
                       extent = x.shape[static_cast<std::size_t>(d)];
    if (size > extent) throw std::out_of_range("sizes");
    if (size == extent) continue;
    const std::string at = start_of(c, c.at(static_cast<std::size_t>(d) + 2), extent - size);
    const std::string place = c.w.add("Sub", {counting(c.w, extent), at});
    const std::string nearest = clamped(c.w, place, {size - 1}, false);
    y = c.w.add("Gather", {y, nearest}, {{"axis", d}});
    Extents shape(static_cast<std::size_t>(rank), 1);
    shape[static_cast<std::size_t>(d)] = extent;
    const std::string hit = c.w.add("Reshape", {c.w.add("Equal", {place, nearest}), c.w.integers(shape)});
    inside = inside.empty() ? hit : c.w.add("And", {inside, hit});
  }
  return c.result(inside.empty() ? y : c.w.add("Where", {inside, y, c.w.full(x)}));
}

}  // namespace

const std::vector<Row>& index_rows() {
  static const std::vector<Row> rows = {{"dynamic-slice", dynamic_slice},
                                        {"dynamic-update-slice", dynamic_update_slice},
                                        {"gather", gather},
                                        {"scatter", scatter}};
  return rows;
}

}  // namespace superstep::xla_import
