// SPDX-License-Identifier: Apache-2.0
#include "model/machine/machine.h"

#include <algorithm>
#include <iomanip>
#include <ostream>

#include "model/quantity_text.h"

namespace superstep {
namespace {

std::string counted(std::int64_t n, const std::string& what) {
  return with_thousands(n) + " " + what + (n == 1 ? "" : "s");
}

void print_system(std::ostream& out, const Machine& machine) {
  const Chip& chip = machine.chip;
  out << "  " << counted(machine.ipus, "IPU") << " in " << counted(machine.machines(), "IPU-Machine") << " and "
      << counted(machine.domains(), "IPU-Link domain") << "; one graph spans at most " << machine.control_domain_ipus
      << "\n  " << to_text(machine.chip_memory()) << " per IPU in " << with_thousands(chip.tiles) << " tiles of "
      << to_text(chip.tile_memory) << " at " << to_text(chip.clock) << "\n  peak per IPU "
      << to_text(peak(chip, chip.amp.fp16_16_macs_per_cycle)) << " FP16.16, "
      << to_text(peak(chip, chip.amp.fp16_32_macs_per_cycle)) << " FP16.32, "
      << to_text(peak(chip, chip.amp.fp32_macs_per_cycle)) << " FP32\n";
}

void print_row(std::ostream& out, const SourcedRow& row, int pointer_width, int text_width) {
  out << "  " << std::left << std::setw(pointer_width) << row.pointer << "  " << std::setw(text_width) << row.text
      << "  [" << row.file << "] " << row.source << "\n";
  if (!row.conflict.empty()) {
    out << "  " << std::setw(pointer_width + text_width + 2) << ""
        << "  but: " << row.conflict << "\n";
  }
}

}  // namespace

FlopsPerSecond peak(const Chip& chip, std::int64_t macs_per_cycle) {
  return FlopsPerSecond(2.0 * static_cast<double>(macs_per_cycle) * static_cast<double>(chip.tiles) * chip.clock.value);
}

bool have_same_domains(const Machine& a, const Machine& b) {
  return a.links == b.links && a.gateway == b.gateway && a.streaming == b.streaming && a.host == b.host &&
         a.ipus_per_machine == b.ipus_per_machine &&
         (a.ipus == b.ipus || std::min(a.ipus, b.ipus) >= a.links.domain_ipus);
}

void print(std::ostream& out, const Machine& machine) {
  out << machine.name << ": " << machine.title << "\n";
  if (machine.plannable) print_system(out, machine);
  std::size_t pointer_width = 0, text_width = 0;
  for (const SourcedRow& row : machine.rows) {
    pointer_width = std::max(pointer_width, row.pointer.size());
    text_width = std::max(text_width, row.text.size());
  }
  for (const SourcedRow& row : machine.rows) {
    print_row(out, row, static_cast<int>(pointer_width), static_cast<int>(text_width));
  }
  for (const Baseline& b : machine.baselines) {
    out << "  " << b.model << ", " << b.metric << ", " << b.accelerators << " accelerators: " << b.value << " "
        << b.unit << "  " << b.source << "\n";
  }
}

}  // namespace superstep
