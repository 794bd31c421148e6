#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Expected: the "result" of a solved linear programme is its objective at the plan reported,
#   and a programme that has a plan is not called infeasible.
# Seen (npm javascript-lp-solver 1.0.3): where rows force a variable to one value, its cost is
#   missing from the result; the plan is right. "a >= 1" does no harm, the same row written
#   "-a <= -1" does, and so does a row "a <= b" after it, which loses the cost of b too.
#   Unrestricted x and y with x + y <= -3 are "infeasible". The presolve, new in 1.0 and on by
#   default, sets the cost of fixed variables to 0, and takes 0 for a lower bound it has no row
#   for. All are right with options: { presolve: false }, the first two in 0.4.24 as well.
# Why it matters: to ask what pinning a layer to a chip costs, one forces its variable and
#   compares results; here the forced plan (10) looks cheaper than the optimum (3): it says 0.
# Instead: switch presolve off, or add up cost times value over the plan oneself.
set -euo pipefail

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

npm install --prefix "$tmp" --no-audit --no-fund --ignore-scripts --loglevel=error \
  javascript-lp-solver@1.0.3 old@npm:javascript-lp-solver@0.4.24 >/dev/null

cat >"$tmp/probe.cjs" <<'JS'
const fresh = require('javascript-lp-solver');
const old = require('old');
const version = (name) => JSON.parse(require('fs').readFileSync(
  require('path').join(__dirname, 'node_modules', name, 'package.json'))).version;

let failures = 0;
function expect(what, seen, wanted) {
  failures += seen === wanted ? 0 : 1;
  console.log(`${seen === wanted ? 'seen   ' : 'CHANGED'} ${what}: ${seen}` +
              (seen === wanted ? '' : ` (was ${wanted})`));
}

// Solves a fresh copy, and tells the result beside the cost of the plan, added up here.
function solved(solver, model, options) {
  const s = solver.Solve(structuredClone({ optimize: 'cost', ...model, ...(options && { options }) }));
  if (!s.feasible) return 'infeasible';
  const cost = Object.entries(model.variables).reduce((sum, [k, v]) => sum + v.cost * (s[k] ?? 0), 0);
  return `result ${s.result}, plan costs ${cost}`;
}
function compare(what, model, wanted, right, before = right) {
  expect(what, solved(fresh, model), wanted);
  expect('  the same, presolve off', solved(fresh, model, { presolve: false }), right);
  expect('  the same, by 0.4.24', solved(old, model), before);
}

// One of the places a and b must be taken; a also needs b where a row says so.
const places = (constraints, a, b) => ({ opType: 'min', binaries: { a: 1, b: 1 },
  constraints: { any: { min: 1 }, ...constraints },
  variables: { a: { cost: 7, any: 1, ...a }, b: { cost: 3, any: 1, ...b } } });
const free = { opType: 'max', constraints: { row: { max: -3 } }, unrestricted: { x: 1, y: 1 },
  variables: { x: { cost: 1, row: 1 }, y: { cost: 1, row: 1 } } };
const needs = { max: 0 };

console.log(`npm javascript-lp-solver ${version('javascript-lp-solver')} and ${version('old')}\n`);
const [three, seven, ten, less] = [3, 7, 10, -3].map((n) => `result ${n}, plan costs ${n}`);
compare('nothing forced', places({}), three, three);
compare('a >= 1', places({ on: { min: 1 } }, { on: 1 }), seven, seven);
compare('-a <= -1', places({ on: { max: -1 } }, { on: -1 }), 'result 0, plan costs 7', seven);
compare('-a <= -1, a <= b', places({ on: { max: -1 }, needs }, { on: -1, needs: 1 }, { needs: -1 }),
        'result 0, plan costs 10', ten);
compare('unrestricted x + y <= -3', free, 'infeasible', less, 'infeasible');

console.log(failures ? `\nFAIL: ${failures} of these changed; read the list above`
                     : '\nholds: the presolve drops the cost of what is forced, and a plan below zero');
process.exit(failures ? 1 : 0);
JS
node "$tmp/probe.cjs"
