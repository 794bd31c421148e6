// SPDX-License-Identifier: Apache-2.0
// Loads machines from data/machines, with the changes that a job asks for.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "model/machine/machine.h"

namespace superstep {

// Returns the machine that a job names. `spec` is a name from data/machines ("ipu-pod16"), a file path, or an object
// {"base": name, "partition": ipus, "override": {...}}, where the partition is_usable(). `override` has the layout of a
// machine file, and may give plain values ("2 GHz", 8) whose source is then the job. `where` is the place of `spec` in
// the job, for messages. Throws Error on an unknown name or key, a number without unit or source, and a negative, zero
// or absurd value. Also throws Error on a machine with several IPUs and no links.
Machine load_machine(const nlohmann::json& spec, const std::string& where);
Machine load_machine(const std::string& name);

// True if `ipus` IPUs of the machine can be a V-IPU partition. A partition is a part of one IPU-Machine, or whole
// IPU-Machines that share an IPU-Link domain evenly, or whole domains.
bool is_partition(const Machine& machine, std::int64_t ipus);
// True if a program may use `ipus` IPUs of the machine: any number in one IPU-Link domain, or whole domains. A number
// that is no partition, as 14, is the used part of a larger one.
bool is_usable(const Machine& machine, std::int64_t ipus);
// Returns the part that load_machine() makes for {"partition": ipus}. `ipus` must be usable, and `machine` neither a
// part itself nor changed by a job.
Machine partition_of(const Machine& machine, std::int64_t ipus);

}  // namespace superstep
