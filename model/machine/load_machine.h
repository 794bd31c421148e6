// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "model/machine/machine.h"

namespace superstep {

// The machine that a job names: a name from data/machines ("ipu-pod16"), a file path, or an object
// {"base": name, "partition": ipus, "override": {...}} where override has the layout of a machine
// file and may give plain values ("2 GHz", 8) whose source is then the job. `where` is the place of
// `spec` in the job, for messages. Throws Error on an unknown name or key, a number without unit or
// source, a negative, zero or absurd value, and a machine with several IPUs and no links.
Machine load_machine(const nlohmann::json& spec, const std::string& where);
Machine load_machine(const std::string& name);

// Whether so many IPUs are a V-IPU partition: a part of one IPU-Machine, whole ones that share an IPU-Link domain
// evenly, or whole domains.
bool is_partition(const Machine& machine, std::int64_t ipus);
// As load_machine() has it of a machine that is no part of another one, nor changed by a job.
Machine partition_of(const Machine& machine, std::int64_t ipus);

// Names of all machines in data/machines, in the order people list them.
std::vector<std::string> machine_names();

// The folder that holds machines/, jobs/ and the rest: $SUPERSTEP_DATA, else beside the executable,
// else the source tree it was built from.
std::string data_folder();

}  // namespace superstep
