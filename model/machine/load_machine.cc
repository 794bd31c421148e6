// SPDX-License-Identifier: Apache-2.0
#include "model/machine/load_machine.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "model/error.h"
#include "model/json_reader.h"
#include "model/machine/machine_file.h"
#include "model/quantity_text.h"

namespace superstep {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr std::int64_t kMostIpus = 1 << 22;
constexpr std::int64_t kMostDomainIpus = 4096;  // routes inside a domain are computed for each pair

Amp read_amp(SourcedValues& values) {
  Amp amp;
  amp.fp16_16_macs_per_cycle = values.integer("/chip/amp/fp16_16_macs_per_cycle", 1, 1'000'000);
  amp.fp16_32_macs_per_cycle = values.integer("/chip/amp/fp16_32_macs_per_cycle", 1, 1'000'000);
  amp.fp32_macs_per_cycle = values.integer("/chip/amp/fp32_macs_per_cycle", 1, 1'000'000);
  amp.block_channels = values.integer("/chip/amp/block_channels", 1, 1024);
  amp.block_fixed = values.cycles("/chip/amp/block_fixed");
  amp.call_fixed = values.cycles("/chip/amp/call_fixed");
  if (values.has("/chip/amp/weight_load")) {
    amp.weight_load = values.rate_per_cycle("/chip/amp/weight_load");
    amp.estimated_fp16_16 = values.has("/chip/amp/estimated_fp16_16") && values.boolean("/chip/amp/estimated_fp16_16");
  }
  return amp;
}

ExchangeFabric read_exchange(SourcedValues& values) {
  ExchangeFabric exchange;
  exchange.send = values.rate_per_cycle("/chip/exchange/send");
  exchange.receive = values.rate_per_cycle("/chip/exchange/receive");
  exchange.paired_receive = values.rate_per_cycle("/chip/exchange/paired_receive");
  if (values.has("/chip/exchange/piece")) exchange.piece = values.cycles("/chip/exchange/piece");
  exchange.superstep = values.cycles("/chip/exchange/superstep");
  exchange.code_per_fragment = values.bytes("/chip/exchange/code_per_fragment", Bytes(0));
  exchange.code_per_phase = values.bytes("/chip/exchange/code_per_phase", Bytes(0));
  return exchange;
}

Chip read_chip(SourcedValues& values) {
  Chip chip;
  chip.name = values.text("/chip/name");
  chip.tiles = values.integer("/chip/tiles", 1, 1'000'000);
  chip.workers = values.integer("/chip/workers", 1, 1024);
  chip.clock = values.hertz("/chip/clock");
  chip.tile_memory = values.bytes("/chip/tile_memory", Bytes(1024));
  chip.executable_memory = values.bytes("/chip/executable_memory", Bytes(1));
  chip.amp = read_amp(values);
  chip.exchange = read_exchange(values);
  chip.vertex_launch = values.cycles("/chip/vertex_launch");
  chip.control_code = values.bytes("/chip/control_code", Bytes(0));
  return chip;
}

// A single IPU needs no links; its domain is itself.
IpuLinks read_links(SourcedValues& values) {
  IpuLinks links;
  links.domain_ipus = 1;
  if (!values.has("/links")) return links;
  links.rate = values.rate("/links/rate");
  links.efficiency = values.fraction("/links/efficiency");
  links.rung_links = values.integer("/links/rung_links", 1, 1024);
  links.rail_links = values.integer("/links/rail_links", 1, 1024);
  links.torus = values.boolean("/links/torus");
  links.domain_ipus = values.integer("/links/domain_ipus", 1, kMostDomainIpus);
  links.hop_latency = values.seconds("/links/hop_latency");
  links.external_sync = values.cycles("/links/external_sync");
  return links;
}

GwLinks read_gateway(SourcedValues& values) {
  GwLinks gateway;
  if (!values.has("/gateway")) return gateway;
  gateway.rate = values.rate("/gateway/rate");
  gateway.efficiency = values.fraction("/gateway/efficiency");
  gateway.latency = values.seconds("/gateway/latency");
  gateway.max_domains = values.integer("/gateway/max_domains", 1, kMostIpus);
  return gateway;
}

StreamingMemory read_streaming(SourcedValues& values) {
  StreamingMemory streaming;
  if (!values.has("/streaming")) return streaming;
  streaming.capacity = values.bytes("/streaming/capacity", Bytes(1024));
  streaming.ipu_rate = values.rate("/streaming/ipu_rate");
  streaming.machine_rate = values.rate("/streaming/machine_rate");
  return streaming;
}

std::vector<Baseline> read_baselines(SourcedValues& values) {
  std::vector<Baseline> baselines;
  const json* rows = values.raw_or_null("/baselines");
  if (rows == nullptr) return baselines;
  const std::string place = values.place_of("/baselines");
  if (!rows->is_array()) throw Error(place, "expected a list, found " + describe(*rows));
  for (const json& row : *rows) {
    JsonReader read(row, place.substr(0, place.find('#')), "/baselines/" + std::to_string(baselines.size()));
    Baseline baseline;
    baseline.id = read.text("id");
    baseline.model = read.text("model");
    baseline.metric = read.text("metric");
    baseline.accelerators = read.integer("accelerators", 1, kMostIpus);
    baseline.value = read.number("value", 1e-9, 1e15);
    baseline.unit = read.text("unit");
    baseline.source = read.text("source");
    read.finish();
    baselines.push_back(std::move(baseline));
  }
  return baselines;
}

void read_system(SourcedValues& values, Machine& machine) {
  machine.chip = read_chip(values);
  machine.ipus = values.integer("/ipus", 1, kMostIpus);
  machine.ipus_per_machine = values.integer("/ipus_per_machine", 1, 1024);
  machine.control_domain_ipus = values.integer("/control_domain_ipus", 1, kMostIpus);
  machine.power_of_two_ipus = values.boolean("/power_of_two_ipus");
  machine.links = read_links(values);
  machine.gateway = read_gateway(values);
  machine.streaming = read_streaming(values);
  machine.host.rate = values.rate("/host/rate");
  machine.host.latency = values.seconds("/host/latency");
  machine.host.copy_rate = values.rate("/host/copy_rate");
  machine.host.copying_programs = values.integer("/host/copying_programs", 0, kMostIpus);
}

// A comparison system: nothing but its size, power and published figures.
void read_comparison(SourcedValues& values, Machine& machine) {
  machine.chip.name = values.text("/chip/name");
  machine.ipus = values.integer("/ipus", 1, kMostIpus);
  machine.ipus_per_machine = machine.ipus;
  machine.links.domain_ipus = machine.ipus;
}

Machine read_machine(SourcedValues& values) {
  Machine machine;
  machine.title = values.text("/title");
  if (values.has("/calibration")) machine.calibration = values.text("/calibration");
  machine.plannable = values.flag_or("/plannable", true);
  if (machine.plannable) {
    read_system(values, machine);
  } else {
    read_comparison(values, machine);
  }
  machine.rated_power = values.watts("/rated_power");
  if (values.has("/list_price")) machine.list_price = values.dollars("/list_price");
  machine.baselines = read_baselines(values);
  values.finish();
  machine.rows = values.rows();
  return machine;
}

// What single values cannot show: that they agree with each other.

void check_chip(const Chip& chip, const SourcedValues& values) {
  if (chip.executable_memory > chip.tile_memory) {
    throw Error(values.place_of("/chip/executable_memory"),
                to_text(chip.executable_memory) + " are more than the tile memory of " + to_text(chip.tile_memory));
  }
  if (chip.control_code > chip.executable_memory) {
    throw Error(
        values.place_of("/chip/control_code"),
        to_text(chip.control_code) + " are more than the executable memory of " + to_text(chip.executable_memory));
  }
}

void check_size(const Machine& machine, const SourcedValues& values) {
  const std::string where = values.place_of("/ipus");
  const std::string found = std::to_string(machine.ipus) + " IPUs";
  const std::int64_t domain = machine.links.domain_ipus;
  const bool whole_machines = machine.ipus % machine.ipus_per_machine == 0;
  if (!whole_machines && machine.ipus_per_machine % machine.ipus != 0) {
    throw Error(where, found + " are not whole machines of " + std::to_string(machine.ipus_per_machine));
  }
  if (machine.ipus > 1 && !values.has("/links")) throw Error(where, found + ", but no links between them");
  if (machine.ipus <= domain) return;
  if (machine.gateway.max_domains < ceil_div(machine.ipus, domain)) {
    throw Error(where, found + ", but one IPU-Link domain joins " + std::to_string(domain) + " and the gateways join " +
                           std::to_string(machine.gateway.max_domains) + " domains");
  }
  if (machine.ipus % domain != 0) {
    throw Error(where, found + " are not whole IPU-Link domains of " + std::to_string(domain));
  }
}

void check(const Machine& machine, const SourcedValues& values) {
  if (!machine.plannable) return;
  check_chip(machine.chip, values);
  check_size(machine, values);
  if (machine.links.domain_ipus % machine.ipus_per_machine != 0) {
    throw Error(values.place_of("/links/domain_ipus"), "a domain of " + std::to_string(machine.links.domain_ipus) +
                                                           " IPUs is not made of whole machines of " +
                                                           std::to_string(machine.ipus_per_machine));
  }
}

SourcedRow* row_of(Machine& machine, std::string_view pointer) {
  const auto found = std::find_if(machine.rows.begin(), machine.rows.end(),
                                  [&](const SourcedRow& row) { return row.pointer == pointer; });
  return found == machine.rows.end() ? nullptr : &*found;
}

// Power and price go with the number of IPUs, unless the job says what they are.
template <class Q>
void scale_with_ipus(Machine& machine, std::int64_t ipus_before, std::string_view pointer, Q& value) {
  SourcedRow* row = row_of(machine, pointer);
  if (row == nullptr || row->file == "job") return;
  value = Q(value.value * static_cast<double>(machine.ipus) / static_cast<double>(ipus_before));
  row->source += "; scaled from " + std::to_string(ipus_before) + " to " + std::to_string(machine.ipus) + " IPUs";
  row->text = to_text(value);
}

void scale_system(Machine& machine, std::int64_t ipus_before) {
  if (machine.ipus == ipus_before) return;
  scale_with_ipus(machine, ipus_before, "/rated_power", machine.rated_power);
  scale_with_ipus(machine, ipus_before, "/list_price", machine.list_price);
}

void check_partition(const Machine& machine, std::int64_t partition, const std::string& where) {
  const std::string found = "a partition of " + std::to_string(partition) + " IPUs ";
  if (!machine.plannable) throw Error(where, machine.name + " is a comparison system and has no partitions");
  if (partition > machine.ipus) {
    throw Error(where, found + "is larger than " + machine.name + " with " + std::to_string(machine.ipus));
  }
  if (!is_usable(machine, partition))
    throw Error(where, found + "is more than one IPU-Link domain of " + machine.name + ", expected a multiple of its " +
                           std::to_string(machine.links.domain_ipus) + " IPUs");
}

void take_partition(Machine& machine, std::int64_t partition) {
  machine.ipus = partition;
  machine.title += ", partition of " + std::to_string(partition);
  machine.name += ":" + std::to_string(partition);
  if (SourcedRow* row = row_of(machine, "/ipus")) {
    *row = {"/ipus", std::to_string(partition), "job: partition of " + row->text + " IPUs", "", "job"};
  }
}

// `partition`: 0: all of it. `ipus_before`: of the system that power and price are of; 0: the machine.
Machine part_of(Machine machine, std::int64_t partition, std::int64_t ipus_before) {
  if (ipus_before == 0) ipus_before = machine.ipus;
  if (partition > 0) take_partition(machine, partition);
  scale_system(machine, ipus_before);
  machine.control_domain_ipus = std::min(machine.control_domain_ipus, machine.ipus);
  return machine;
}

std::string label_of(const std::string& name) {
  return name.ends_with(".json") ? fs::path(name).stem().string() : name;
}

// `from` is the file that names the machine: paths are looked for beside it first.
Machine load_named(const std::string& name, const json* overrides, std::int64_t partition, const std::string& where) {
  const std::string from = where.substr(0, where.find('#'));
  SourcedValues values;
  values.add_file(machine_path(name, from, where), label_of(name));
  std::int64_t ipus_before = 0;
  if (overrides != nullptr) {
    const json* ipus = values.raw_or_null("/ipus");
    if (ipus != nullptr) ipus_before = whole_number(*ipus).value_or(0);
    values.add_job(*overrides, where + "/override");
  }
  Machine machine = read_machine(values);
  machine.name = label_of(name);
  check(machine, values);
  if (overrides != nullptr && !overrides->empty()) machine.title += ", with changes of the job";
  if (partition > 0) check_partition(machine, partition, where + "/partition");
  return part_of(std::move(machine), partition, ipus_before);
}

}  // namespace

bool is_partition(const Machine& machine, std::int64_t ipus) {
  const auto shares = [&](std::int64_t unit) { return unit % ipus == 0 || ipus % unit == 0; };
  return machine.plannable && ipus <= machine.ipus && shares(machine.ipus_per_machine) &&
         shares(std::min(machine.links.domain_ipus, machine.ipus));
}

bool is_usable(const Machine& machine, std::int64_t ipus) {
  const std::int64_t domain = machine.links.domain_ipus;
  return machine.plannable && ipus <= machine.ipus && (ipus <= domain || ipus % domain == 0);
}

Machine partition_of(const Machine& machine, std::int64_t ipus) {
  SUPERSTEP_CHECK(is_usable(machine, ipus), "no part of the machine");
  return part_of(machine, ipus, 0);
}

Machine load_machine(const json& spec, const std::string& where) {
  if (spec.is_string()) return load_named(spec.get<std::string>(), nullptr, 0, where);
  if (!spec.is_object()) {
    throw Error(where, "expected a machine name, a file, or an object with \"base\", found " + describe(spec));
  }
  const std::size_t hash = where.find('#');
  JsonReader reader(spec, where.substr(0, hash), hash == std::string::npos ? "" : where.substr(hash + 1));
  const std::string base = reader.text("base");
  const std::int64_t partition = reader.integer_or("partition", 1, kMostIpus, 0);
  const json* overrides = reader.raw_or_null("override");
  reader.finish();
  return load_named(base, overrides, partition, hash == std::string::npos ? where + "#" : where);
}

Machine load_machine(const std::string& name) { return load_named(name, nullptr, 0, ""); }

}  // namespace superstep
