// SPDX-License-Identifier: Apache-2.0
#include "model/cost/cost.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "model/error.h"

namespace superstep {

Cycles TermCycles::total() const { return Cycles(std::accumulate(by.begin(), by.end(), std::int64_t{0})); }

TermCycles& TermCycles::operator+=(const TermCycles& o) {
  for (std::size_t i = 0; i < by.size(); ++i) by[i] += o.by[i];
  return *this;
}

TermCycles operator*(TermCycles a, std::int64_t n) {
  for (std::int64_t& v : a.by) v *= n;
  return a;
}

TermCycles TermCycles::as(Term term) const {
  TermCycles t;
  t[term] = total().value;
  return t;
}

// Running sums are rounded, not the terms: so they add up.
TermCycles TermCycles::part(std::int64_t cycles) const {
  TermCycles out;
  const double share = cycles == 0 ? 0 : static_cast<double>(cycles) / static_cast<double>(total().value);
  std::int64_t all = 0, taken = 0;
  for (std::size_t i = 0; i < by.size(); ++i) {
    all += by[i];
    const std::int64_t up_to = all == total().value ? cycles : std::llround(share * static_cast<double>(all));
    out.by[i] = up_to - taken;
    taken = up_to;
  }
  return out;
}

CostModel::CostModel(const Machine& machine, Calibration calibration)
    : CostModel(machine, std::move(calibration), std::make_shared<LinkGraph>(machine)) {}
CostModel::CostModel(Machine machine, Calibration calibration, std::shared_ptr<const LinkGraph> links)
    : machine_(std::move(machine)), calibration_(std::move(calibration)), links_(std::move(links)) {}
CostModel::~CostModel() = default;

CostModel CostModel::with(Machine machine, Calibration calibration) const {
  return {std::move(machine), std::move(calibration), links_};
}

CollectivePath CostModel::path(GroupShape group) const { return links_->collective_path(group); }

namespace {

// Seconds of a ring over n members: each passes on (n-1)/n of the data once for a reduce-scatter or an
// all-gather, twice for an all-reduce. For an all-to-all `bytes` is what each holds; a part of it goes n/4 hops on
// average, the shorter way round.
double ring(CollectiveKind kind, std::int64_t n, double bytes, double rate, double latency) {
  if (n <= 1) return 0;
  const double passes = kind == CollectiveKind::all_reduce ? 2 : 1;
  const double steps = static_cast<double>(n - 1);
  if (kind == CollectiveKind::all_to_all) return static_cast<double>(n) / 4 * bytes / rate + steps * latency;
  const double around = passes * (steps / static_cast<double>(n) * bytes / rate + steps * latency);
  if (kind != CollectiveKind::all_reduce) return around;
  // Small tensors: everyone sends all to everyone and reduces locally.
  return std::min(around, steps * bytes / rate + 2 * latency);
}

}  // namespace

Cycles CostModel::collective(CollectiveKind kind, GroupShape group, Bytes bytes, bool along) const {
  if (group.size <= 1 || bytes.value == 0) return Cycles(0);
  return collective(kind, path(group), bytes, along);
}

Cycles CostModel::collective(CollectiveKind kind, const CollectivePath& p, Bytes bytes, bool along) const {
  if (p.inside * p.domains <= 1 || bytes.value == 0) return Cycles(0);
  const double b = static_cast<double>(bytes.value);
  double seconds = ring(kind, p.inside, b, p.ring_rate.value, along ? 0 : machine_.links.hop_latency.value);
  if (p.domains > 1) {  // within the racks on IPU-Links, the shards across racks on GW-Links
    const double shard =
        kind == CollectiveKind::all_to_all ? b : b / static_cast<double>(std::max<std::int64_t>(1, p.inside));
    seconds += ring(kind, p.domains, shard, p.gateway_rate.value * calibration_.gateway_factor,
                    along ? 0 : machine_.gateway.latency.value);
  }
  return cycles(Seconds(seconds)) + (along ? Cycles(0) : machine_.links.external_sync);
}

// Latencies count members, so that rates decide where equally many are inside of a domain; between all across and all
// inside latencies do as well.
bool CostModel::is_no_faster(GroupShape a, GroupShape b) const {
  const CollectivePath of_a = path(a), of_b = path(b);
  if (of_a.inside == 1 && of_b.domains == 1 && of_b.inside > 1) {
    return machine_.gateway.latency >= machine_.links.hop_latency &&
           of_a.gateway_rate * calibration_.gateway_factor <= of_b.ring_rate;
  }
  return of_a.inside == of_b.inside && of_a.ring_rate <= of_b.ring_rate && of_a.gateway_rate <= of_b.gateway_rate;
}

bool CostModel::is_no_faster(std::int64_t a, std::int64_t b) const {
  return links_->neighbour_rate(a) <= links_->neighbour_rate(b);
}

Cycles CostModel::copy(Bytes bytes, std::int64_t stride, GroupShape holders) const {
  if (bytes.value == 0) return Cycles(0);
  const BytesPerSecond rate = links_->neighbour_rate(stride);
  const Cycles fixed = cycles(machine_.links.hop_latency * 2.0) + machine_.links.external_sync;
  const Cycles whole = cycles(transfer_time(bytes, rate)) + fixed;
  if (holders.size == 1) return whole;
  // What every IPU of the group holds can also be sent in slices and joined on the other side.
  const Cycles sliced = cycles(transfer_time(share(bytes, holders.size), rate)) + fixed +
                        collective(CollectiveKind::all_gather, holders, bytes);
  return std::min(whole, sliced);
}

Cycles CostModel::streaming(Bytes bytes, Location from, std::int64_t stride) const {
  if (bytes.value == 0) return Cycles(0);
  return cycles(transfer_time(bytes, streaming_rate(from, stride)));
}

BytesPerSecond CostModel::streaming_rate(Location from, std::int64_t stride) const {
  if (from == Location::remote_ipu) return links_->shifted_rate(stride);
  const StreamingMemory& d = machine_.streaming;
  const BytesPerSecond rate(
      std::min(d.ipu_rate.value, d.machine_rate.value / static_cast<double>(machine_.ipus_per_machine)) *
      calibration_.streaming_factor);
  // Every machine lends to as many IPUs as it has, so their share of its memory's rate is as at home.
  return from == Location::remote_machine ? std::min(rate, links_->shifted_rate(stride)) : rate;
}

Cycles CostModel::host(Bytes bytes) const {
  return machine_.has_streaming() ? streaming(bytes, Location::streaming, 1) : network(bytes, 1);
}

Cycles CostModel::network(Bytes bytes, std::int64_t groups) const {
  if (bytes.value == 0) return Cycles(0);
  const auto share = static_cast<double>(std::min(machine_.ipus, machine_.ipus_per_machine));
  return cycles(transfer_time(bytes, BytesPerSecond(machine_.host.rate.value * static_cast<double>(groups) / share)));
}

Cycles CostModel::host_copies(Bytes bytes, std::int64_t groups) const {
  const HostLink& host = machine_.host;
  if (host.copying_programs == 0 || bytes.value == 0) return Cycles(0);
  const double each = static_cast<double>(machine_.ipus) / static_cast<double>(groups * host.copying_programs);
  return cycles(transfer_time(bytes, BytesPerSecond(host.copy_rate.value * calibration_.host_copy_factor / each)));
}

TermCycles CostModel::step(const Step& s) const {
  TermCycles t;
  const Chip& chip = machine_.chip;
  switch (s.kind) {
    case StepKind::compute:
      t[Term::amp_rows] += s.rows.value;
      t[Term::amp_padding] += s.padding.value;
      t[Term::amp_fixed] += s.amp_fixed.value;
      t[s.term] += scaled(s.vector, calibration_.vector_factor).value;
      t[Term::superstep] += chip.exchange.superstep.value;
      break;
    case StepKind::exchange: {
      // Re-layout moves many small pieces; it was fitted together with the vector work it feeds.
      const double factor = s.term == Term::relayout ? calibration_.vector_factor : 1;
      const Cycles move = transfer_time(s.tile_bytes, chip.exchange.receive) +
                          transfer_time(s.paired_bytes, chip.exchange.paired_receive);
      t[s.term] += scaled(move, factor).value + chip.exchange.piece.value * s.pieces;
      t[Term::superstep] += chip.exchange.superstep.value;
      break;
    }
    case StepKind::collective:
      t[s.term] += collective(s.collective, s.group, s.tile_bytes, s.along).value;
      break;
    case StepKind::copy:
      t[s.term] += copy(s.tile_bytes, s.group.stride, s.holders).value;
      break;
    case StepKind::load:
    case StepKind::store:
      t[s.term] += streaming(s.tile_bytes, s.location, s.group.stride).value;
      break;
    case StepKind::host:
      if (!s.beside) t[s.term] += host(s.tile_bytes).value;
      break;
    case StepKind::fixed:
      t[s.term] += s.vector.value;
      break;
  }
  return t * s.times;
}

TermCycles CostModel::function(const Function& f) const {
  TermCycles t;
  for (const Step& s : f.steps) t += step(s);
  return t;
}

}  // namespace superstep
