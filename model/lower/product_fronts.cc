// SPDX-License-Identifier: Apache-2.0
#include "model/lower/product_fronts.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "model/error.h"

namespace superstep {

struct ProductFronts::State {
  struct Entry {
    std::vector<ProductPlan> front;
    std::once_flag searched;
  };
  Chip chip;
  std::int64_t tiles;
  Calibration calibration;
  std::shared_ptr<FrontStore> store;
  std::mutex mutex;
  // By shape and number of parts; 0: as many as the usual caps ask for; -1: as many as any cap asks for.
  std::map<std::pair<ProductShape, std::int64_t>, std::unique_ptr<Entry>> fronts;
  std::atomic<std::int64_t> searches = 0;

  Entry& entry(const ProductShape& shape, std::int64_t times) {
    SUPERSTEP_CHECK(shape.batch > 0 && shape.rows > 0 && shape.columns > 0 && shape.contracted > 0,
                    "empty matrix product");
    std::lock_guard lock(mutex);
    auto& slot = fronts[{shape, times}];
    if (!slot) slot = std::make_unique<Entry>();
    return *slot;
  }

  const std::vector<ProductPlan>& front(const ProductShape& shape, bool usual);
  const std::vector<ProductPlan>& front_in(std::int64_t times, const ProductShape& shape);

  // Those of the store, or what `search` finds.
  template <class Search>
  const std::vector<ProductPlan>& found(const ProductShape& shape, std::int64_t times, const Search& search) {
    Entry& e = entry(shape, times);
    std::call_once(e.searched, [&] {
      if (store) e.front = store->find(shape, times);
      if (!e.front.empty()) return;
      ++searches;
      e.front = search();
      if (store) store->add(shape, times, e.front);
    });
    return e.front;
  }
};

ProductFronts::ProductFronts(const Chip& chip, std::int64_t tiles, const Calibration& calibration,
                             std::shared_ptr<FrontStore> store)
    : state_(new State) {
  state_->chip = chip;
  state_->tiles = tiles;
  state_->calibration = calibration;
  state_->store = std::move(store);
}
ProductFronts::~ProductFronts() = default;

namespace {

// Of a front, fastest first and ever leaner, where the fastest is that the cap allows; the leanest when none is that
// lean.
std::size_t within(const std::vector<ProductPlan>& front, std::int64_t cap) {
  const auto best = std::ranges::find_if(front, [&](const ProductPlan& p) { return p.temporary.value <= cap; });
  return static_cast<std::size_t>(std::min(best - front.begin(), std::ssize(front) - 1));
}

ProductChoice choice_of(const std::vector<ProductPlan>& front, Bytes cap) {
  const std::size_t i = within(front, cap.value);
  return {
      front[i],
      {i + 1 == front.size() ? 0 : front[i].temporary.value, i == 0 ? INT64_MAX : front[i - 1].temporary.value - 1}};
}

}  // namespace

const std::vector<ProductPlan>& ProductFronts::State::front(const ProductShape& shape, bool usual) {
  return found(shape, usual ? 0 : -1,
               [&] { return product_front(shape, tiles, chip, calibration, usual ? least_cap(chip) : Bytes(0)); });
}

const std::vector<ProductPlan>& ProductFronts::State::front_in(std::int64_t times, const ProductShape& shape) {
  return found(shape, times, [&] { return product_front_in(times, shape, tiles, chip, calibration); });
}

ProductChoice ProductFronts::fastest(const ProductShape& shape, Bytes cap) {
  const Bytes least = least_cap(state_->chip);
  const bool usual = cap >= least;
  ProductChoice choice = choice_of(state_->front(shape, usual), cap);
  choice.caps.narrow(usual ? CapRange{least.value, INT64_MAX} : CapRange{0, least.value - 1});
  return choice;
}

ProductChoice ProductFronts::fastest_in(std::int64_t times, const ProductShape& shape, Bytes cap) {
  return choice_of(state_->front_in(times, shape), cap);
}

std::span<const ProductPlan> ProductFronts::all_within(const ProductShape& shape, const CapRange& caps,
                                                       std::int64_t times) {
  const bool usual = caps.least >= least_cap(state_->chip).value;
  const std::vector<ProductPlan>& front = times == 0 ? state_->front(shape, usual) : state_->front_in(times, shape);
  const std::size_t first = within(front, caps.most), last = within(front, caps.least);
  return std::span(front).subspan(first, last - first + 1);
}

std::int64_t ProductFronts::searches() const { return state_->searches; }

}  // namespace superstep
