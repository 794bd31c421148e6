// SPDX-License-Identifier: Apache-2.0
#include "model/cost/fit_probability.h"

#include <boost/math/distributions/normal.hpp>
#include <cmath>

namespace superstep {
namespace {

constexpr double kBandDeviations = 1.959963985;  // half a 95 % band, in standard deviations

}  // namespace

double fit_probability(std::int64_t margin, std::int64_t band) {
  const double deviation = static_cast<double>(band) / kBandDeviations;
  if (deviation == 0) return margin >= 0 ? 1 : 0;
  return boost::math::cdf(boost::math::normal(0, deviation), static_cast<double>(margin));
}

std::int64_t margin_for(double probability, std::int64_t band) {
  const double deviation = static_cast<double>(band) / kBandDeviations;
  if (deviation == 0) return 0;
  return static_cast<std::int64_t>(std::ceil(boost::math::quantile(boost::math::normal(0, deviation), probability)));
}

}  // namespace superstep
