// SPDX-License-Identifier: Apache-2.0
#include "planner/report/uncertainty.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>

#include "model/cost/step_timer.h"
#include "model/error.h"
#include "model/numerics/random_bits.h"

namespace superstep {
namespace {

// Standard deviation of the logarithm of a machine number that was estimated or recalled from memory.
constexpr double kEstimatedSpread = 0.25;
// Share of a residual's variance that all plans of one model have in common. No published data gives the share, hence
// half.
constexpr double kCommonVariance = 0.5;
constexpr double k95 = 1.96;

// Machine numbers that affect a time after lowering. The links' rates are left out: they are published, or cancel
// between plans.
struct Drawn {
  const char* pointer;
  void (*scale)(Machine&, double);
};
constexpr Drawn kMachineNumbers[] = {
    {"/chip/exchange/superstep",
     [](Machine& m, double f) { m.chip.exchange.superstep = scaled(m.chip.exchange.superstep, f); }},
    {"/links/hop_latency", [](Machine& m, double f) { m.links.hop_latency = m.links.hop_latency * f; }},
    {"/links/external_sync", [](Machine& m, double f) { m.links.external_sync = scaled(m.links.external_sync, f); }},
    {"/gateway/latency", [](Machine& m, double f) { m.gateway.latency = m.gateway.latency * f; }},
    {"/host/rate", [](Machine& m, double f) { m.host.rate = BytesPerSecond(m.host.rate.value * f); }},
};

bool is_estimated(const Machine& machine, const std::string& pointer) {
  return std::any_of(machine.rows.begin(), machine.rows.end(), [&](const SourcedRow& row) {
    return row.pointer == pointer && (row.source.starts_with("estimated") || row.source.starts_with("recalled"));
  });
}

std::uint64_t hash(std::string_view text) {  // FNV-1a: equal in every build
  std::uint64_t h = 0xcbf29ce484222325u;
  for (char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return h;
}

// Returns a standard normal number of a world, determined by what the number is for.
double normal(std::string_view what, int world) {
  const std::uint64_t key = hash(what);
  const auto bits = numerics::philox4x32({static_cast<std::uint32_t>(world), 0, 0, 0},
                                         {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)});
  const auto uniform = [](std::uint32_t b) { return (static_cast<double>(b) + 0.5) * 0x1p-32; };
  return std::sqrt(-2 * std::log(uniform(bits[0]))) * std::cos(2 * std::numbers::pi * uniform(bits[1]));
}

// Returns the matrix that turns independent standard normal numbers into deviations of the fitted constants.
Eigen::MatrixXd spread_of(const Calibration& c) {
  const auto n = static_cast<Eigen::Index>(c.uncertainty.size());
  Eigen::MatrixXd covariance(n, n);
  if (n == 0) return covariance;
  for (Eigen::Index i = 0; i < n; ++i)
    for (Eigen::Index j = 0; j < n; ++j)
      covariance(i, j) = c.correlation[static_cast<std::size_t>(i * n + j)] / (k95 * k95) *
                         c.uncertainty[static_cast<std::size_t>(i)] * c.uncertainty[static_cast<std::size_t>(j)];
  // Correlations are rounded in the file, so an eigenvalue may lie just below zero. This square root sets it to zero.
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> parts(covariance);
  return parts.eigenvectors() * parts.eigenvalues().cwiseMax(0).cwiseSqrt().asDiagonal();
}

Calibration drawn(Calibration c, const Eigen::MatrixXd& spread, int world) {
  Eigen::VectorXd independent(spread.cols());
  for (Eigen::Index i = 0; i < spread.cols(); ++i) independent[i] = normal("constant " + std::to_string(i), world);
  const Eigen::VectorXd change = spread * independent;
  for (Eigen::Index i = 0; i < change.size(); ++i) {
    const FittedConstant& constant = fitted_constants()[static_cast<std::size_t>(i)];
    const double now = constant.get(c);
    // A time goes with the inverse of a rate. The inverse was fitted, so the inverse is drawn.
    const double moved =
        constant.is_rate ? 1 / std::max(1 / now - change[i] / (now * now), 1 / constant.most) : now + change[i];
    constant.set(c, std::clamp(moved, constant.least, constant.most));
  }
  return c;
}

std::vector<Drawn> estimated_numbers(const Machine& machine) {
  std::vector<Drawn> out;
  std::ranges::copy_if(kMachineNumbers, std::back_inserter(out),
                       [&](const Drawn& number) { return is_estimated(machine, number.pointer); });
  return out;
}

Machine drawn(Machine m, const std::vector<Drawn>& numbers, int world) {
  for (const Drawn& number : numbers) number.scale(m, std::exp(kEstimatedSpread * normal(number.pointer, world)));
  return m;
}

double residual(const Calibration& c, const Subject& subject, int world) {
  if (c.relative_band == 0) return 1;  // of an invented machine, which has no errors
  const double common = normal("model " + subject.model, world), own = normal("plan " + subject.plan, world);
  double log = c.relative_band * (std::sqrt(kCommonVariance) * common + std::sqrt(1 - kCommonVariance) * own);
  for (const Mechanism& m : subject.unmeasured) log += m.relative_band * normal("mechanism " + m.name, world);
  return std::exp(log / k95);
}

// Calls take(world, cost model of the world, residual factor) for each world.
template <class Take>
void visit_worlds(const CostModel& model, const Subject& subject, const Take& take) {
  const Eigen::MatrixXd spread = spread_of(model.calibration());
  const std::vector<Drawn> numbers = estimated_numbers(model.machine());
  // Worlds do not need the rows with sources, which take longer to copy than all other data.
  Machine machine = model.machine();
  Calibration c = model.calibration();
  machine.rows.clear(), c.rows.clear();
  for (int world = 0; world < kWorlds; ++world) {
    const CostModel other = model.with(drawn(machine, numbers, world), drawn(c, spread, world));
    take(static_cast<std::size_t>(world), other, residual(c, subject, world));
  }
}

}  // namespace

std::vector<double> step_seconds_in_worlds(const Program& program, const CostModel& model, const Subject& subject) {
  const StepTimer timer(program);
  std::vector<double> seconds(kWorlds);
  visit_worlds(model, subject, [&](std::size_t world, const CostModel& other, double unexplained) {
    seconds[world] = other.seconds(timer.step(other)).value * unexplained;
  });
  return seconds;
}

PartsInWorlds parts_in_worlds(const Program& program, const CostModel& model, const Subject& subject) {
  PartsInWorlds out;
  out.terms.assign(kTerms, std::vector<double>(kWorlds));
  out.functions.assign(program.functions.size(), std::vector<double>(kWorlds));
  visit_worlds(model, subject, [&](std::size_t world, const CostModel& other, double unexplained) {
    const auto seconds = [&](Cycles cycles) { return other.seconds(cycles).value * unexplained; };
    const TermCycles step = cost(program, other).step;
    for (std::size_t t = 0; t < out.terms.size(); ++t) out.terms[t][world] = seconds(Cycles(step.by[t]));
    for (std::size_t f = 0; f < out.functions.size(); ++f) {
      const FunctionId function(f);
      out.functions[f][world] = seconds(other.function(program.functions[function]).total());
    }
  });
  return out;
}

}  // namespace superstep
