// SPDX-License-Identifier: Apache-2.0
// Blocks for the caches around the tile kernels. Columns and rows are cut freely; the contracted axis only at nodes of
// the tree: sums of nodes that wait for their right siblings lie in blocks of memory of their own, as those of chunks
// lie within the kernel.
#include "model/numerics/contract.h"

#include <algorithm>
#include <utility>

#include "model/error.h"
#include "model/numerics/blas.h"
#include "model/numerics/pack.h"

namespace superstep::numerics {

namespace {

// Steps of one kernel call: panels of rows and columns stay in the second cache. More only where a chunk has more.
constexpr std::int64_t kSteps = 1024;
constexpr std::int64_t kRowBlockBytes = 256 << 10;  // of packed rows, which stay in the second cache
constexpr std::int64_t kColumnBlock = 512;          // columns packed at a time
constexpr std::int64_t kKeptRowBytes = 8 << 20;     // of packed rows that stay packed for all blocks of columns
constexpr std::int64_t kWaitingRows = 2048;         // of blocks of sums that wait

// One task of a member of the team: a rectangle of one product of the batch.
template <class T>
struct ProductTask {
  Lanes<T> a, b;  // at its first row, its first column, the first step of the part
  Matrix<SumOf<T>> c;
  std::int64_t rows, columns;
};

// Panels of nearly equal height, none above `tallest`.
struct Panels {
  std::int64_t rows, count;
  Panels(std::int64_t all, std::int64_t tallest) : rows(all), count((all + tallest - 1) / tallest) {}
  std::int64_t first_row(std::int64_t panel) const { return panel * (rows / count) + std::min(panel, rows % count); }
  std::int64_t height(std::int64_t panel) const { return first_row(panel + 1) - first_row(panel); }
};

template <class Real>
Matrix<Real> part_of(Matrix<Real> c, std::int64_t row, std::int64_t column) {
  c.data += row * c.row_step + (c.column_at ? 0 : column * c.column_step);
  if (c.column_at) c.column_at += column;
  return c;
}

// A product of the batch, within one member of the team.
template <class T>
class BlockedProduct {
 public:
  using Real = SumOf<T>;

  BlockedProduct(const Product& product, const Kernels& kernels, Workspace& workspace, std::int64_t rows,
                 std::int64_t columns)
      : product_(product), kernels_(kernels), steps_(in_steps(product.tree, product.part, kSteps)) {
    if constexpr (std::is_same_v<Real, float>) {
      width_ = kernels.float_tile_width;
      multiply_ = kernels.multiply_floats;
    } else {
      width_ = kernels.double_tile_width;
      multiply_ = kernels.multiply_doubles;
    }
    int depth = 0, waiting_now = 0;
    for (const NodeStep& step : steps_) {
      longest_ = std::max(longest_, step.range.extent());
      for (const NodeStep& chunk : in_steps(product.tree, step.range, 0)) {
        chunk_joins_.push_back(static_cast<std::uint8_t>(chunk.joins));
      }
      if (&step == &steps_.back()) break;  // the last does not wait: it is the result
      waiting_now += 1 - step.joins;
      depth = std::max(depth, waiting_now);
    }
    const auto by_size =
        kRowBlockBytes / (static_cast<std::int64_t>(sizeof(Real)) * std::max<std::int64_t>(1, longest_));
    row_panels_ = std::max<std::int64_t>(1, by_size / kernels.tile_height);
    block_rows_ = steps_.size() > 1 ? std::min(rows, kWaitingRows) : rows;
    block_columns_ = std::min(columns, kColumnBlock);
    const std::int64_t padded_columns = (block_columns_ + width_ - 1) / width_ * width_;
    const std::int64_t all_rows = block_rows_ * longest_;
    keeps_rows_ = steps_.size() == 1 && columns > block_columns_ &&
                  all_rows * static_cast<std::int64_t>(sizeof(Real)) <= kKeptRowBytes;
    const std::int64_t packed_rows =
        keeps_rows_ ? all_rows : std::min(row_panels_ * kernels.tile_height, block_rows_) * longest_;
    const std::int64_t packed_columns = padded_columns * longest_;
    const std::int64_t one_waiting = block_rows_ * block_columns_;
    const auto lines = [](std::int64_t count) { return (count + 15) / 16 * 16; };
    packed_b_ = workspace.take<Real>(
        static_cast<std::size_t>(lines(packed_columns) + lines(packed_rows) + depth * one_waiting));
    packed_a_ = packed_b_ + lines(packed_columns);
    for (int i = 0; i < depth; ++i) waiting_.push_back(packed_a_ + lines(packed_rows) + i * one_waiting);
  }

  void run(const ProductTask<T>& all) {
    for (std::int64_t row = 0; row < all.rows; row += block_rows_) {
      for (std::int64_t column = 0; column < all.columns; column += block_columns_) {
        ProductTask<T> block = all;
        block.rows = std::min(block_rows_, all.rows - row);
        block.columns = std::min(block_columns_, all.columns - column);
        block.a = all.a.from(row, 0);
        block.b = all.b.from(column, 0);
        block.c = part_of(all.c, row, column);
        rows_are_packed_ = keeps_rows_ && column > 0;
        run_block(block);
      }
    }
  }

 private:
  const Product& product_;
  const Kernels& kernels_;
  std::vector<NodeStep> steps_;
  std::vector<std::uint8_t> chunk_joins_;  // of all steps, one after another
  std::int64_t longest_ = 0;
  std::int64_t width_ = 0, row_panels_ = 0, block_rows_ = 0, block_columns_ = 0;
  void (*multiply_)(const TileProduct<Real>&) = nullptr;
  bool keeps_rows_ = false, rows_are_packed_ = false;
  Real* packed_a_ = nullptr;
  Real* packed_b_ = nullptr;
  std::vector<Real*> waiting_;

  // One step of the tree after another; each joins what waits for it and waits itself, the last one in the result.
  void run_block(const ProductTask<T>& block) {
    int depth = 0;
    const std::uint8_t* joins = chunk_joins_.data();
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const NodeStep& step = steps_[i];
      const Real* earlier[kMaxTreeDepth];
      for (int j = 0; j < step.joins; ++j) earlier[j] = waiting_[static_cast<std::size_t>(--depth)];
      TileProduct<Real> tile;
      tile.steps = step.range.extent();
      tile.chunk = product_.tree.chunk();
      tile.joins = joins;
      tile.partials = product_.partials;
      tile.overflow = product_.overflow;
      tile.earlier_step = block.columns;
      const bool last = i + 1 == steps_.size();
      tile.to = last ? block.c.data : waiting_[static_cast<std::size_t>(depth++)];
      tile.row_step = last ? block.c.row_step : block.columns;
      tile.column_step = last ? block.c.column_step : 1;
      run_step(block, step.range.begin - product_.part.begin, tile, {earlier, static_cast<std::size_t>(step.joins)},
               last ? block.c.column_at : nullptr);
      joins += product_.tree.chunks_of(step.range);
    }
  }

  void run_step(const ProductTask<T>& block, std::int64_t first_step, const TileProduct<Real>& pattern,
                std::span<const Real* const> earlier, const std::int64_t* column_at) {
    const std::int64_t steps = pattern.steps;
    for (std::int64_t column = 0; column < block.columns; column += width_) {
      pack_panel(kernels_, block.b.from(column, first_step), std::min(width_, block.columns - column), width_, steps,
                 packed_b_ + column * steps);
    }
    const Panels panels(block.rows, kernels_.tile_height);
    for (std::int64_t first = 0; first < panels.count; first += row_panels_) {
      const std::int64_t end = std::min(panels.count, first + row_panels_);
      const std::int64_t first_row = keeps_rows_ ? 0 : panels.first_row(first);
      for (std::int64_t panel = first; panel < end && !rows_are_packed_; ++panel) {
        const std::int64_t row = panels.first_row(panel);
        pack_panel(kernels_, block.a.from(row, first_step), panels.height(panel), panels.height(panel), steps,
                   packed_a_ + (row - first_row) * steps);
      }
      for (std::int64_t column = 0; column < block.columns; column += width_) {
        for (std::int64_t panel = first; panel < end; ++panel) {
          const std::int64_t row = panels.first_row(panel);
          TileProduct<Real> tile = pattern;
          tile.rows = packed_a_ + (row - first_row) * steps;
          tile.columns = packed_b_ + column * steps;
          tile.height = static_cast<int>(panels.height(panel));
          tile.width = static_cast<int>(std::min(width_, block.columns - column));
          const Real* at[kMaxTreeDepth];
          for (std::size_t i = 0; i < earlier.size(); ++i) at[i] = earlier[i] + row * block.columns + column;
          tile.earlier = at;
          tile.earlier_count = static_cast<int>(earlier.size());
          tile.to += row * tile.row_step;
          store_columns(tile, column, column_at);
        }
      }
    }
  }

  // Columns that are neighbours are stored as such, others by way of a tile of our own.
  void store_columns(TileProduct<Real>& tile, std::int64_t first, const std::int64_t* column_at) {
    if (column_at == nullptr) {
      tile.to += first * tile.column_step;
      return multiply_(tile);
    }
    column_at += first;
    tile.column_step = 1;
    if (column_at[tile.width - 1] - column_at[0] == tile.width - 1) {
      tile.to += column_at[0];
      return multiply_(tile);
    }
    Real sums[kMaxTileHeight * kMaxLanes];
    Real* to = std::exchange(tile.to, sums);
    const std::int64_t row_step = std::exchange(tile.row_step, width_);
    multiply_(tile);
    for (int row = 0; row < tile.height; ++row)
      for (int column = 0; column < tile.width; ++column)
        to[row * row_step + column_at[column]] = sums[row * width_ + column];
  }

  static constexpr int kMaxTreeDepth = 64;
};

// Part i of n of an extent, cut at multiples of `unit`.
std::pair<std::int64_t, std::int64_t> share_of_units(std::int64_t extent, std::int64_t unit, int i, int n) {
  const std::int64_t units = (extent + unit - 1) / unit;
  const auto border = [&](std::int64_t at) { return std::min(extent, units * at / n * unit); };
  return {border(i), border(i + 1)};
}

// Products commute, so that either operand may be the one whose lanes fill vectors. A tile takes a cycle for `width`
// lanes and a step; a result whose columns lie apart takes about two for an element.
bool better_transposed(const Product& product, std::int64_t c_row_step, std::int64_t c_column_step,
                       std::int64_t width) {
  const auto padded = [&](std::int64_t lanes) { return (lanes + width - 1) / width * width; };
  const std::int64_t apart = 2 * product.rows * product.columns * width;
  const std::int64_t as_it_is =
      padded(product.columns) * product.rows * product.part.extent() + (c_column_step == 1 ? 0 : apart);
  const std::int64_t transposed =
      padded(product.rows) * product.columns * product.part.extent() + (c_row_step == 1 ? 0 : apart);
  return transposed < as_it_is;
}

}  // namespace

template <class T>
void contract(Team& team, const Product& given, Matrix<const T> a, Matrix<const T> b, Matrix<SumOf<T>> c,
              const Kernels& kernels) {
  using Real = SumOf<T>;
  SUPERSTEP_CHECK(c.row_at == nullptr, "rows of a result have steps");
  SUPERSTEP_CHECK(given.tree.is_node(given.part), "a partial product is of a node of its tree");
  Product product = given;
  product.part.end = std::min(product.part.end, product.tree.extent());
  if (product.batch <= 0 || product.rows <= 0 || product.columns <= 0) return;
  if (product.blas && product.partials == Partials::full && product.part.extent() > 0)
    return product.blas->multiply(team, product, a, b, c);
  if (product.part.extent() == 0) a = b = {nullptr, 0, 0};  // nothing to read: the sums are zero

  const std::int64_t width = std::is_same_v<Real, float> ? kernels.float_tile_width : kernels.double_tile_width;
  ProductTask<T> whole = {{a.data, a.row_step, a.column_step, a.row_at, a.column_at},
                          {b.data, b.column_step, b.row_step, b.column_at, b.row_at},
                          c,
                          product.rows,
                          product.columns};
  std::int64_t a_batch = a.batch_step, b_batch = b.batch_step;
  if (c.column_at == nullptr && better_transposed(product, c.row_step, c.column_step, width)) {
    std::swap(whole.a, whole.b);
    std::swap(whole.rows, whole.columns);
    std::swap(whole.c.row_step, whole.c.column_step);
    std::swap(a_batch, b_batch);
  }

  const int members = team.size();
  const bool by_batch = product.batch >= members;
  const bool by_rows = !by_batch && whole.rows >= whole.columns;
  team.run([&](int member, Workspace& workspace) {
    const auto mine = [&](bool cut, std::int64_t extent, std::int64_t unit) {
      return cut ? share_of_units(extent, unit, member, members) : std::pair<std::int64_t, std::int64_t>(0, extent);
    };
    const auto [batch, batch_end] = mine(by_batch, product.batch, 1);
    const auto [row, row_end] = mine(by_rows, whole.rows, kernels.tile_height);
    const auto [column, column_end] = mine(!by_batch && !by_rows, whole.columns, width);
    if (batch == batch_end || row == row_end || column == column_end) return;
    BlockedProduct<T> blocks(product, kernels, workspace, row_end - row, column_end - column);
    for (std::int64_t i = batch; i < batch_end; ++i) {
      ProductTask<T> part = whole;
      part.rows = row_end - row;
      part.columns = column_end - column;
      part.a = whole.a.from(row, 0);
      part.b = whole.b.from(column, 0);
      part.a.data += i * a_batch;
      part.b.data += i * b_batch;
      part.c = part_of(whole.c, row, column);
      part.c.data += i * c.batch_step;
      blocks.run(part);
    }
  });
}

template void contract(Team&, const Product&, Matrix<const Half>, Matrix<const Half>, Matrix<float>, const Kernels&);
template void contract(Team&, const Product&, Matrix<const float>, Matrix<const float>, Matrix<float>, const Kernels&);
template void contract(Team&, const Product&, Matrix<const double>, Matrix<const double>, Matrix<double>,
                       const Kernels&);

}  // namespace superstep::numerics
