// SPDX-License-Identifier: Apache-2.0
// What a program runs on: chips, tiles, memories, links. Plain data, read from data/machines/*.json,
// where every number carries its unit and its source. A difference between generations is a field.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>
#include <vector>

#include "model/units.h"

namespace superstep {

// The matrix unit (AMP) of a tile. Rates are multiply-adds per cycle at full use.
struct Amp {
  std::int64_t fp16_16_macs_per_cycle = 0;  // half inputs, half partials
  std::int64_t fp16_32_macs_per_cycle = 0;  // half inputs, float partials
  std::int64_t fp32_macs_per_cycle = 0;
  std::int64_t block_channels = 0;  // a weight block is block_channels x block_channels (16)
  Cycles block_fixed;               // measured, per weight block and row group: weight load, launch, retained state
  Cycles call_fixed;                // measured, per vertex call
  BytesPerCycle weight_load{0};  // into the unit, for the vendor's estimate; 0: what was measured serves for all types
  bool estimated_fp16_16 = false;  // the vendor's estimate also for half inputs and partials, as for the other types
  friend bool operator==(const Amp&, const Amp&) = default;
};

// The all-to-all exchange between the tiles of a chip.
struct ExchangeFabric {
  BytesPerCycle send;            // per tile
  BytesPerCycle receive;         // per tile
  BytesPerCycle paired_receive;  // both tiles of a pair take the same stream
  Cycles piece;                  // lost for each run that a tile receives from another one, beside its bytes
  Cycles superstep;              // sync, launch and route latency of one compute or exchange superstep
  Bytes code_per_fragment;       // exchange code per transfer fragment and tile
  Bytes code_per_phase;          // exchange code per exchange phase and tile
  friend bool operator==(const ExchangeFabric&, const ExchangeFabric&) = default;
};

struct Chip {
  std::string name;  // "GC200"
  std::int64_t tiles = 0;
  std::int64_t workers = 0;
  Hertz clock;
  Bytes tile_memory;        // In-Processor Memory per tile
  Bytes executable_memory;  // the part of tile_memory instructions can be fetched from
  Amp amp;
  ExchangeFabric exchange;
  Cycles vertex_launch;  // supervisor overhead of one MultiVertex
  Bytes control_code;    // per tile: supervisor program, stacks, loader-unusable tail
  friend bool operator==(const Chip&, const Chip&) = default;
};
// IPU-Links: two columns of IPUs joined as a ladder; a rung joins the pair, a rail joins neighbours
// of a column. All rates are per direction.
struct IpuLinks {
  BytesPerSecond rate;    // one link
  double efficiency = 0;  // payload share of the raw rate
  std::int64_t rung_links = 0;
  std::int64_t rail_links = 0;
  bool torus = false;            // the ends of the rails are looped, in a full domain
  std::int64_t domain_ipus = 0;  // IPUs one IPU-Link domain (rack) can join
  Seconds hop_latency;           // one step of a ring: launch, sync and one hop of a message
  Cycles external_sync;          // one superstep that syncs several IPUs
  friend bool operator==(const IpuLinks&, const IpuLinks&) = default;
};

// Gateway links between racks; rates per IPU-Machine and direction.
struct GwLinks {
  BytesPerSecond rate;
  double efficiency = 0;
  Seconds latency;
  std::int64_t max_domains = 0;  // racks that can be joined; 0: no gateway links
  friend bool operator==(const GwLinks&, const GwLinks&) = default;
};

// Streaming Memory of one IPU-Machine.
struct StreamingMemory {
  Bytes capacity;               // per machine, or as much as a job may use
  BytesPerSecond ipu_rate;      // per IPU and direction; 0: the machine has none
  BytesPerSecond machine_rate;  // shared by the IPUs of a machine, per direction
  friend bool operator==(const StreamingMemory&, const StreamingMemory&) = default;
};

struct HostLink {
  BytesPerSecond rate;       // per machine
  Seconds latency;           // per transfer
  BytesPerSecond copy_rate;  // of one host program that copies a step's inputs
  // Host programs that copy a step's inputs before the device starts on them, each for an equal share of the IPUs; 0:
  // inputs are streamed while the device runs.
  std::int64_t copying_programs = 0;
  friend bool operator==(const HostLink&, const HostLink&) = default;
};

// One sourced row of a machine file, for `superstep explain`: what it says, where from, and, where
// sources conflict, with what.
struct SourcedRow {
  std::string pointer;  // "/chip/clock"
  std::string text;     // "1.325 GHz"
  std::string source;
  std::string conflict;  // empty: sources agree
  std::string file;      // machine file the row stands in; "job" when overridden there
  friend bool operator==(const SourcedRow&, const SourcedRow&) = default;
};

// A measured figure of the machine, used for comparison only (DGX-A100).
struct Baseline {
  std::string id;     // as in data/published
  std::string model;  // zoo name
  std::string metric, unit, source;
  std::int64_t accelerators = 0;  // the figure is for so many, in one or more systems
  double value = 0;
  friend bool operator==(const Baseline&, const Baseline&) = default;
};

struct Machine {
  std::string name;       // "ipu-pod16"
  std::string title;      // "IPU-POD16 (GC200)"
  bool plannable = true;  // false: a comparison system with baselines only
  Chip chip;
  std::int64_t ipus = 0;
  std::int64_t ipus_per_machine = 0;
  std::int64_t control_domain_ipus = 0;  // largest one-IPU target: what one graph can span by t and p
  bool power_of_two_ipus = false;
  IpuLinks links;
  GwLinks gateway;
  StreamingMemory streaming;
  HostLink host;
  Watts rated_power;                    // the whole system
  Dollars list_price;                   // the whole system; 0: not known
  std::string calibration = "default";  // data/calibration/<name>.json
  std::vector<Baseline> baselines;
  std::vector<SourcedRow> rows;  // every number above, in the order of the structs

  std::int64_t machines() const { return ceil_div(ipus, ipus_per_machine); }
  std::int64_t domains() const { return ceil_div(ipus, links.domain_ipus); }
  Bytes chip_memory() const { return chip.tile_memory * chip.tiles; }
  bool has_streaming() const { return streaming.ipu_rate.value > 0; }
  Bytes streaming_per_ipu() const { return Bytes(streaming.capacity.value / ipus_per_machine); }
  friend bool operator==(const Machine&, const Machine&) = default;
};

// Whether a group of IPUs that both have finds the same links, Streaming Memory and hosts: the machines differ at most
// in how many whole IPU-Link domains they have. Chips are not compared.
bool have_same_domains(const Machine& a, const Machine& b);

// The rate of a whole chip whose tiles all do `macs_per_cycle` multiply-adds (one of Amp's) in each cycle.
FlopsPerSecond peak(const Chip& chip, std::int64_t macs_per_cycle);

// Title, size, derived facts, then every row with its source.

void print(std::ostream& out, const Machine& machine);

}  // namespace superstep
