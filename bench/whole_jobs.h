// SPDX-License-Identifier: Apache-2.0
// Whole jobs, each in a process of its own, so that the peak memory is the job's.
#pragma once

#include <string>

namespace superstep {

// Benchmarks that start `program` --job NAME and read what it prints.
void register_whole_jobs(const std::string& program);

// That child: searches the job as `superstep plan` does, lowers the best plan, prints what it took. Exit code.
int run_whole_job(const std::string& name);

}  // namespace superstep
