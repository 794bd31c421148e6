#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Expected: ReduceSum of [2^53, 1] in int64 is 9007199254740993, as Add gives it; and what does not fit
#   into int32 wraps around in ReduceSum and ReduceProd as it does in Add and Mul.
# Seen (npm onnxruntime-web 1.30.0, CPU): ReduceSum of int64 loses the 1. ReduceSum of int32 stops at
#   2147483647, where Add of the same numbers wraps to -2147483648. 3^39 by Pow of int64 is 11 less than
#   by repeated Mul. Range from 2^60 to 2^60 + 5 in steps of 2 is empty.
# Why it matters: checksums, ids and positions that are summed or counted in a model are silently off
#   by a few, and differ between two ways to write the same sum.
# Instead: add int64 with Add, or split ids into halves below 2^53 before they are reduced.
set -euo pipefail

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

npm install --prefix "$tmp" --no-audit --no-fund --ignore-scripts --loglevel=error \
  onnxruntime-web@1.30.0 >/dev/null

cat >"$tmp/probe.mjs" <<'JS'
import * as ort from 'onnxruntime-web/wasm';

ort.env.wasm.numThreads = 1;

// A model of one node, in the protobuf wire format.
const varint = (n) => (n < 128 ? [n] : [(n & 127) | 128, ...varint(n >>> 7)]);
const int = (field, n) => [...varint(field << 3), ...varint(n)];
const bytes = (field, b) => [...varint((field << 3) | 2), ...varint(b.length), ...b];
const text = (field, s) => bytes(field, Buffer.from(s));
const CODES = {int32: 6, int64: 7};
const value = (field, name, type, dims) => bytes(field, [...text(1, name),
  ...bytes(2, bytes(1, [...int(1, type), ...(dims ? bytes(2, dims.flatMap((d) => bytes(1, int(1, d)))) : [])]))]);

async function run(op, opset, inputs) {
  const node = bytes(1, [...inputs.flatMap((_, i) => text(1, `i${i}`)), ...text(2, 'y'), ...text(4, op)]);
  const graph = [...node, ...inputs.flatMap((t, i) => value(11, `i${i}`, CODES[t.type], t.dims)),
    ...value(12, 'y', CODES[inputs[0].type])];
  const model = Uint8Array.from([...int(1, 10), ...bytes(7, [...text(2, 'g'), ...graph]),
    ...bytes(8, [...text(1, ''), ...int(2, opset)])]);
  const session = await ort.InferenceSession.create(model, { executionProviders: ['wasm'] });
  const result = await session.run(Object.fromEntries(inputs.map((t, i) => [`i${i}`, t])));
  await session.release();
  return Array.from(result.y.data, String).join(' ');
}
const i64 = (xs, dims = [xs.length]) => new ort.Tensor('int64', BigInt64Array.from(xs.map(BigInt)), dims);
const i32 = (xs, dims = [xs.length]) => new ort.Tensor('int32', Int32Array.from(xs), dims);

let failures = 0;
function expect(what, seen, wanted) {
  const holds = seen === wanted;
  failures += holds ? 0 : 1;
  console.log(`${holds ? 'seen   ' : 'CHANGED'} ${what}: ${seen}`);
}
console.log(`npm onnxruntime-web ${ort.env.versions.web}`);

expect('int64 Add of 2^53 and 1', await run('Add', 13, [i64([2n ** 53n]), i64([1])]), '9007199254740993');
expect('int64 ReduceSum of 2^53 and 1', await run('ReduceSum', 13, [i64([2n ** 53n, 1])]), '9007199254740992');
expect('int32 Add of 2147483647 and 1', await run('Add', 13, [i32([2147483647]), i32([1])]), '-2147483648');
expect('int32 ReduceSum of 2147483647 and 1', await run('ReduceSum', 13, [i32([2147483647, 1])]), '2147483647');
let product = 1n;
for (let i = 0; i < 39; ++i) product = BigInt(await run('Mul', 13, [i64([product]), i64([3])]));
const power = BigInt(await run('Pow', 13, [i64([3]), i64([39])]));
expect('int64 Pow(3, 39) less the product', String(power - product), '-11');
expect('int64 Range(2^60, 2^60 + 5, 2)',
  await run('Range', 11, [i64([2n ** 60n], []), i64([2n ** 60n + 5n], []), i64([2], [])]), '');
console.log(failures ? `\nFAIL: ${failures} of these changed; read the list above`
                     : '\nholds: reductions, powers and ranges of integers go through floating point');
process.exit(failures ? 1 : 0);
JS
node "$tmp/probe.mjs"
