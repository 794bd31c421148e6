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

  // Those of the store, or what `search` finds.
  template <class Search>
  const std::vector<ProductPlan>& front(const ProductShape& shape, std::int64_t times, const Search& search) {
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

// The fastest of a front, fastest first and ever leaner, that the cap allows; the leanest when none is that lean.
ProductChoice within(const std::vector<ProductPlan>& front, Bytes cap) {
  auto best = std::find_if(front.begin(), front.end(), [&](const ProductPlan& p) { return p.temporary <= cap; });
  if (best == front.end()) --best;
  const bool leanest = best + 1 == front.end(), first = best == front.begin();
  return {*best, {leanest ? 0 : best->temporary.value, first ? INT64_MAX : std::prev(best)->temporary.value - 1}};
}

}  // namespace

ProductChoice ProductFronts::fastest(const ProductShape& shape, Bytes cap) {
  const Bytes least = cap_of(kLeastProportion, state_->chip);
  const bool usual = cap >= least;
  const auto search = [&] {
    return product_front(shape, state_->tiles, state_->chip, state_->calibration, usual ? least : Bytes(0));
  };
  ProductChoice choice = within(state_->front(shape, usual ? 0 : -1, search), cap);
  choice.caps.narrow(usual ? CapRange{least.value, INT64_MAX} : CapRange{0, least.value - 1});
  return choice;
}

ProductChoice ProductFronts::fastest_in(std::int64_t times, const ProductShape& shape, Bytes cap) {
  const auto search = [&] { return product_front_in(times, shape, state_->tiles, state_->chip, state_->calibration); };
  return within(state_->front(shape, times, search), cap);
}

std::int64_t ProductFronts::searches() const { return state_->searches; }

}  // namespace superstep
