// SPDX-License-Identifier: Apache-2.0
// The machine a program runs on: chips, tiles, memories, links. Plain data, read from data/machines/*.json, where every
// number carries its unit and its source. Generations of machines differ in values of fields only.
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
  // Measured fixed costs: block_fixed per weight block and row group (weight load, launch, retained state), call_fixed
  // per vertex call.
  Cycles block_fixed;
  Cycles call_fixed;
  // Rate at which weights are loaded into the unit, for the vendor's estimate. 0: measured costs serve for all types.
  BytesPerCycle weight_load{0};
  bool estimated_fp16_16 = false;  // true: the estimate replaces measured costs for half inputs with half partials too
  friend bool operator==(const Amp&, const Amp&) = default;
};

// The all-to-all exchange between the tiles of a chip.
struct ExchangeFabric {
  BytesPerCycle send;            // per tile
  BytesPerCycle receive;         // per tile
  BytesPerCycle paired_receive;  // per tile, if both tiles of a pair receive the same stream
  Cycles piece;                  // lost per run of bytes that a tile receives from another tile, beside the transfer
  Cycles superstep;              // sync, launch and route latency of one compute or exchange superstep
  Bytes code_per_fragment;       // exchange code per transfer fragment and tile
  Bytes code_per_phase;          // exchange code per exchange phase and tile
  friend bool operator==(const ExchangeFabric&, const ExchangeFabric&) = default;
};

// One IPU.
struct Chip {
  std::string name;  // "GC200"
  std::int64_t tiles = 0;
  std::int64_t workers = 0;
  Hertz clock;
  Bytes tile_memory;        // In-Processor Memory per tile
  Bytes executable_memory;  // the part of tile_memory that can hold instructions
  Amp amp;
  ExchangeFabric exchange;
  Cycles vertex_launch;  // supervisor overhead of one MultiVertex
  Bytes control_code;    // per tile: supervisor program, stacks, loader-unusable tail
  friend bool operator==(const Chip&, const Chip&) = default;
};
// IPU-Links, which join two columns of IPUs as a ladder. A rung joins the two IPUs of a row, a rail joins neighbours of
// a column. All rates are per direction.
struct IpuLinks {
  BytesPerSecond rate;    // one link
  double efficiency = 0;  // payload share of the raw rate
  std::int64_t rung_links = 0;
  std::int64_t rail_links = 0;
  bool torus = false;            // true: in a full domain the ends of each rail are joined
  std::int64_t domain_ipus = 0;  // IPUs one IPU-Link domain (rack) can join
  Seconds hop_latency;           // one step of a ring: launch, sync and one hop of a message
  Cycles external_sync;          // one superstep that syncs several IPUs
  friend bool operator==(const IpuLinks&, const IpuLinks&) = default;
};

// Gateway links between racks. Rates are per IPU-Machine and direction.
struct GwLinks {
  BytesPerSecond rate;
  double efficiency = 0;
  Seconds latency;
  std::int64_t max_domains = 0;  // racks that can be joined; 0: no gateway links
  friend bool operator==(const GwLinks&, const GwLinks&) = default;
};

// Streaming Memory of one IPU-Machine.
struct StreamingMemory {
  Bytes capacity;               // per machine, or the limit that a job sets
  BytesPerSecond ipu_rate;      // per IPU and direction; 0: the machine has none
  BytesPerSecond machine_rate;  // shared by the IPUs of a machine, per direction
  friend bool operator==(const StreamingMemory&, const StreamingMemory&) = default;
};

// Connection of an IPU-Machine to its host.
struct HostLink {
  BytesPerSecond rate;       // per machine
  Seconds latency;           // per transfer
  BytesPerSecond copy_rate;  // per host program that copies the inputs of a step
  // Number of host programs that copy the inputs of a step before the device starts. Each copies for an equal share of
  // the IPUs. 0: inputs are streamed while the device runs.
  std::int64_t copying_programs = 0;
  friend bool operator==(const HostLink&, const HostLink&) = default;
};

// One value of a machine file with its source, for `superstep explain`.
struct SourcedRow {
  std::string pointer;  // "/chip/clock"
  std::string text;     // "1.325 GHz"
  std::string source;
  std::string conflict;  // the value of another source; empty: sources agree
  std::string file;      // machine file that has the value; "job": a job overrides the value
  friend bool operator==(const SourcedRow&, const SourcedRow&) = default;
};

// A published figure of the machine, used for comparison only (DGX-A100).
struct Baseline {
  std::string id;     // as in data/published
  std::string model;  // zoo name
  std::string metric, unit, source;
  std::int64_t accelerators = 0;  // number of accelerators of the figure, in one or more systems
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
  std::int64_t control_domain_ipus = 0;  // most IPUs that one program can span by t and p
  bool power_of_two_ipus = false;        // true: the IPUs of a replica must be a power of two
  IpuLinks links;
  GwLinks gateway;
  StreamingMemory streaming;
  HostLink host;
  Watts rated_power;                    // the whole system
  Dollars list_price;                   // the whole system; 0: not known
  std::string calibration = "default";  // as load_calibration() takes it
  std::vector<Baseline> baselines;
  std::vector<SourcedRow> rows;  // every number above, in the order of the structs

  std::int64_t machines() const { return ceil_div(ipus, ipus_per_machine); }
  std::int64_t domains() const { return ceil_div(ipus, links.domain_ipus); }
  Bytes chip_memory() const { return chip.tile_memory * chip.tiles; }
  bool has_streaming() const { return streaming.ipu_rate.value > 0; }
  Bytes streaming_per_ipu() const { return Bytes(streaming.capacity.value / ipus_per_machine); }
  friend bool operator==(const Machine&, const Machine&) = default;
};

// True if the machines differ at most in how many whole IPU-Link domains they have. A group of IPUs that both machines
// have then finds the same links, Streaming Memory and hosts. Chips are not compared.
bool have_same_domains(const Machine& a, const Machine& b);

// Returns the rate of a whole chip if each tile does `macs_per_cycle` multiply-adds per cycle (one of the rates of
// Amp).
FlopsPerSecond peak(const Chip& chip, std::int64_t macs_per_cycle);

// Prints title, size and derived facts, then every row with its source.
void print(std::ostream& out, const Machine& machine);

}  // namespace superstep
