#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Expected: in a CPLEX LP text, naming a variable twice adds the two coefficients,
#   in the objective as in a constraint ("2 a + 3 b + 2 a" is "4 a + 3 b").
# Seen (npm highs 1.15.3, built from HiGHS 1.15.1): repeats are added in constraints,
#   with a warning in the log, and inside the quadratic bracket, but in the linear
#   objective only the LAST coefficient stays, and the log says nothing. An integer
#   programme below is reported "Optimal" with the wrong plan and the wrong cost.
# Why it matters: who prints an objective term by term (compute + exchange + memory of
#   one placement) gets a plausible plan for another objective; the very warning about
#   a constraint of the same file makes the silence look like an all-clear.
# Instead: add up coefficients per variable before writing LP text, or pass the model as
#   arrays; after reading one, compare getLp().colCost with what was meant.
set -euo pipefail

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

npm install --prefix "$tmp" --no-audit --no-fund --ignore-scripts --loglevel=error \
  highs@1.15.3 >/dev/null

cat >"$tmp/probe.cjs" <<'JS'
const fs = require('fs');
const path = require('path');
const loadHighs = require('highs');
const packaged = path.join(__dirname, 'node_modules/highs/package.json');

// Three units of work for devices of kind a or kind b; a takes two slots of room.
const constraints = `Subject To
 work: a + b >= 3
 room: a + b + a <= 6
General
 a b
End
`;
const repeated = 'Minimize\n cost: 2 a + 3 b + 2 a\n' + constraints;
const merged = 'Minimize\n cost: 4 a + 3 b\n' + constraints;
const reversed = 'Minimize\n cost: 2 a + 2 a + 3 b + 0.5 a\n' + constraints;
const square = `Minimize
 cost: [ x ^ 2 + x ^ 2 ] / 2
Subject To
 low: x >= 3
End
`;

let failures = 0;
function expect(what, seen, wanted) {
  const ok = JSON.stringify(seen) === JSON.stringify(wanted);
  console.log(`${ok ? 'seen   ' : 'CHANGED'} ${what}: ${JSON.stringify(seen)}` +
              (ok ? '' : ` (was ${JSON.stringify(wanted)})`));
  failures += ok ? 0 : 1;
}

(async () => {
  const log = [];
  const highs = await loadHighs({ print: (s) => log.push(s), printErr: (s) => log.push(s) });
  console.log(`npm highs ${JSON.parse(fs.readFileSync(packaged)).version}, HiGHS ${highs.version.string}`);

  const plan = (text) => {
    const s = highs.solve(text, {});
    return [s.Status, s.Columns.a.Primal, s.Columns.b.Primal, s.ObjectiveValue].map(
      (v) => (typeof v === 'number' ? Math.round(v * 1e6) / 1e6 : v));
  };
  const asRead = (text) => highs.withModel({ format: 'lp', data: text }, (m) => m.getLp());

  console.log('\n' + repeated);
  log.length = 0;
  expect('status, a, b, cost of the text above', plan(repeated), ['Optimal', 3, 0, 6]);
  const warnings = log.filter((l) => l.includes('WARNING'));
  warnings.forEach((l) => console.log('        log: ' + l));
  expect('log warns of the repeat in row "room"', warnings.some((l) => l.includes('"room"')), true);
  expect('log speaks of the objective\'s repeat',
         warnings.some((l) => /cost|objective/i.test(l)), false);
  expect('the same with "4 a + 3 b" written out', plan(merged), ['Optimal', 0, 3, 9]);

  const lp = asRead(repeated);
  expect('objective coefficients as read', Array.from(lp.colCost), [2, 3]);
  expect('constraint coefficients as read, by column',
         Array.from(lp.matrix.values), [1, 2, 1, 1]);
  expect('objective "2 a + 2 a + 3 b + 0.5 a" as read',
         Array.from(asRead(reversed).colCost), [0.5, 3]);
  expect('cost of [ x ^ 2 + x ^ 2 ] / 2 at x = 3 (9 if added, 4.5 if not)',
         Math.round(highs.solve(square, {}).ObjectiveValue * 1e3) / 1e3, 9);

  console.log(failures ? `\nFAIL: ${failures} of these changed; read the list above`
                       : '\nholds: repeats add up everywhere but in the linear objective');
  process.exit(failures ? 1 : 0);
})().catch((e) => { console.error('FAIL: ' + (e && e.stack || e)); process.exit(1); });
JS
node "$tmp/probe.cjs"
