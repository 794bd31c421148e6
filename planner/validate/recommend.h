// SPDX-License-Identifier: Apache-2.0
// What is recommended: within software or on the hardware alone, and whether a plan may rest on what nobody measured.
#pragma once

#include <utility>

#include "planner/report/evaluated.h"

namespace superstep {

// How a search within a job's software ended.
struct SearchEnd {
  bool accepted = true;  // the software accepts plans
  bool enough = false;   // a plan was found, or no time is left to look for one
};

// Searches a job within its software. Searches the hardware alone where the software accepts no plan, or where the job
// names no software and none fits; the first result stays if that finds nothing either. `job` becomes the job of the
// result. search(job) returns a result, end_of(result) its SearchEnd.
template <class Search, class EndOf>
auto search_software_then_hardware(Job& job, const Search& search, const EndOf& end_of) {
  auto within = search(job);
  const SearchEnd end = end_of(within);
  if (end.accepted && (end.enough || !job.software.empty())) return within;
  Job any = job;
  any.software = {kAnySoftware};
  auto of_hardware = search(any);
  if (end.accepted && !end_of(of_hardware).enough) return within;
  job = std::move(any);
  return of_hardware;
}

// True if the first plan is to be recommended, though no measured point covers some of its mechanisms: it is surely
// better than the second, all of whose mechanisms are measured, and not much faster than all that was ever measured of
// the job's question. Both need drawn worlds.
bool is_worth_the_bet(const Job& asked, const Evaluated& unmeasured, const Evaluated& measured);

}  // namespace superstep
