// SPDX-License-Identifier: Apache-2.0
// What matmul and the convolutions share: operands and results as arrays of one type, to be multiplied by
// numerics::contract. fp16 and fp32 are multiplied as they are; everything else, integers too, in double, which is
// exact for them up to 2^53.
#pragma once

#include <type_traits>
#include <vector>

#include "model/numerics/contract.h"
#include "model/ops/kernel.h"

namespace superstep::ops {

template <class T>
constexpr DType kTypeOf = std::is_same_v<T, numerics::Half> ? DType::fp16
                          : std::is_same_v<T, float>        ? DType::fp32
                                                            : DType::fp64;

// Calls run(T{}), T being Half, float or double, whichever the operands are multiplied in.
template <class Run>
void with_product_type(DType a, DType b, Run&& run) {
  const auto narrow = [](DType type) { return type == DType::fp16 || type == DType::fp32; };
  if (a == DType::fp16 && b == DType::fp16)
    run(numerics::Half{});
  else if (narrow(a) && narrow(b))
    run(float{});
  else
    run(double{});
}

// The values of a view, where they are or converted.
template <class T>
class OperandValues {
 public:
  explicit OperandValues(const ConstView& view) {
    if (view.type == kTypeOf<T>) {
      data_ = reinterpret_cast<const T*>(view.data);
      return;
    }
    const std::int64_t count = volume(view.region);
    std::vector<double> wide(static_cast<std::size_t>(count));
    load_row(view.data, view.type, 0, 1, count, wide.data());
    own_.assign(wide.size(), T{});
    store_row(reinterpret_cast<std::byte*>(own_.data()), kTypeOf<T>, 0, 1, count, wide.data());
    data_ = own_.data();
  }
  const T* data() const { return data_; }

 private:
  std::vector<T> own_;
  const T* data_;
};

// Room for the sums of the elements `region` of a result, row-major: the view's own if it is of that type and region.
// keep() moves them into the view, in whose type they are rounded.
template <class Real>
class ResultValues {
 public:
  ResultValues(const View& view, Block region) : view_(view), region_(std::move(region)) {
    if (view_.type != kTypeOf<Real> || view_.region != region_) own_.resize(static_cast<std::size_t>(volume(region_)));
    data_ = own_.empty() ? reinterpret_cast<Real*>(view_.data) : own_.data();
  }
  Real* data() { return data_; }
  const Block& region() const { return region_; }
  void keep() {
    if (!own_.empty()) store_region(reinterpret_cast<const std::byte*>(own_.data()), kTypeOf<Real>, region_, view_);
  }

 private:
  const View& view_;
  Block region_;
  std::vector<Real> own_;
  Real* data_;
};

// numerics::contract with the context's threads.
template <class T>
void run_product(const KernelContext& context, const numerics::Product& product, numerics::Matrix<const T> a,
                 numerics::Matrix<const T> b, numerics::Matrix<numerics::SumOf<T>> c) {
  constexpr double kPerNanosecond = 50;  // multiply-adds of one thread
  const auto n = [](std::int64_t extent) { return static_cast<double>(extent); };
  const double work = n(product.batch) * n(product.rows) * n(product.columns) * n(product.part.extent());
  numerics::contract<T>(team_of(context, work / kPerNanosecond), product, a, b, c);
}

// The node of the contraction that a block of `steps` steps is: the context's, or the root of a tree of its own.
ContractionPart part_of(const KernelContext& context, std::int64_t steps);

}  // namespace superstep::ops
