#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Expected: a number put into a Float16 column of Arrow is rounded to the nearest half, is
#   Infinity from 65520 on and zero below 2^-25: at worst 0.05 % off, or clearly out of range.
# Seen (npm apache-arrow 21.2.0): 1.9999 becomes 1, 7.9999 becomes 4 and 0.4999 becomes 0.25:
#   where rounding reaches 1/2, 2, 8, 32 ... the value is halved; 0.9999 and 3.9999 are right.
#   65536 becomes 2 and 1e9 becomes 3.7246, though 65520 and 100000.1 are Infinity. 1e-8 becomes
#   -Infinity, 1e-9 becomes 0.000042, 1e-11 NaN. The file holds the wrong bits; reading is right.
# Why it matters: traces of a training run keep such numbers in half columns: a loss scale of
#   65536, an epsilon of 1e-8, a rate next to 0.5. Most come back finite and plausible.
# Instead: make the bits with a Float16Array (of the engine, or of @petamoriken/float16), and
#   hand its buffer to Arrow as a Uint16Array; or keep the column in Float32.
set -euo pipefail

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

npm install --prefix "$tmp" --no-audit --no-fund --ignore-scripts --loglevel=error \
  apache-arrow@21.2.0 @petamoriken/float16@3.9.3 >/dev/null

cat >"$tmp/probe.mjs" <<'JS'
import fs from 'node:fs';
import { Float16, Float32, Table, makeData, makeVector, tableFromIPC, tableToIPC,
  vectorFromArray } from 'apache-arrow';
import { Float16Array, f16round } from '@petamoriken/float16';

// Writes one column to Arrow's file format, and reads it back.
const stored = (vector) => tableFromIPC(tableToIPC(new Table({ x: vector }), 'file')).getChild('x');
const half = (xs) => [...stored(vectorFromArray(xs, new Float16()))];
const halfBits = (xs) => Uint16Array.from(stored(vectorFromArray(xs, new Float16())).toArray());
const single = (xs) => [...stored(vectorFromArray(xs, new Float32()))];
const madeBits = (xs) => [...stored(makeVector(makeData({ type: new Float16(), length: xs.length,
  data: new Uint16Array(Float16Array.from(xs).buffer) })))];

let failures = 0;
function expect(what, xs, seen, wanted) {
  const ok = seen.length === wanted.length && seen.every((v, i) => Object.is(v, wanted[i]));
  failures += ok ? 0 : 1;
  console.log(`${ok ? 'seen   ' : 'CHANGED'} ${what}`);
  console.log('        ' + seen.map((v, i) => `${xs[i]} -> ${v}`).join(', '));
  if (!ok) console.log('        (was: ' + wanted.join(', ') + ')');
}

const version = (name) => JSON.parse(fs.readFileSync(
  new URL(`node_modules/${name}/package.json`, import.meta.url))).version;
console.log(`npm apache-arrow ${version('apache-arrow')}, ` +
            `@petamoriken/float16 ${version('@petamoriken/float16')}`);

const N = NaN;
const I = Infinity;
const groups = [
  ['just below a power of two', [0.4999, 1.9999, 7.9999, 31.999, -1.9999],
    [0.25, 1, 4, 16, -1], [0.5, 2, 8, 32, -2]],
  ['too large', [65536, 1e5, 131072, 1e6, 1e9, -65536],
    [2, 3.05078125, 2, 3.814453125, 3.724609375, -2], [I, I, I, I, I, -I]],
  ['too small', [1e-8, 1e-9, 1e-10, 1e-11],
    [-I, 0.000041961669921875, 0.00005316734313964844, N], [0, 0, 0, 0]],
];
const odd = groups.flatMap((g) => g[1]);
const right = groups.flatMap((g) => g[3]);

for (const [what, xs, wanted] of groups) expect(`${what}, in a Float16 column`, xs, half(xs), wanted);

console.log('\nneighbours that are right in the same column');
const sound = [
  ['just below other powers of two', [0.24999, 0.9999, 3.9999, 15.999], [0.25, 1, 4, 16]],
  ['further below the same', [0.4995, 1.999, 7.995], [0.49951171875, 1.9990234375, 7.99609375]],
  ['large', [65504, 65519, 65520, 100000.1, Infinity], [65504, 65504, I, I, I]],
  ['small', [1e-5, 1e-7, 3e-8, 2 ** -26, 0],
    [0.000010013580322265625, 1.1920928955078125e-7, 2 ** -24, 0, 0]],
];
for (const [what, xs, wanted] of sound) {
  expect(what, xs, half(xs), wanted);
  expect('  and by @petamoriken/float16', xs, xs.map(f16round), wanted);
}

console.log('\nthe first three lists by other ways');
expect('rounded by @petamoriken/float16', odd, odd.map(f16round), right);
expect('its bits, written and read by Arrow', odd, madeBits(odd), right);
expect('in a Float32 column of Arrow', odd, single(odd), odd.map(Math.fround));
expect('the bits that Arrow made, read by @petamoriken/float16', odd,
       [...new Float16Array(halfBits(odd).buffer)], groups.flatMap((g) => g[2]));

console.log(failures ? `\nFAIL: ${failures} of these changed; read the list above`
                     : '\nholds: on their way into a half column Arrow halves, wraps or blows up numbers');
process.exit(failures ? 1 : 0);
JS
node "$tmp/probe.mjs"
