#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Expected: Unique of [NaN, 3, 1, 2, 1] has 1, 2 and 3 among its values, wherever the NaN stands, and
#   its inverse indices give the input back: y[inverse[i]] is x[i] (NaN for NaN).
# Seen (npm onnxruntime-web 1.30.0, CPU): a NaN equals whatever it is compared with. In front it takes
#   in all others: the one value is NaN, counted 5 times, and 3, 1 and 2 are gone. Anywhere else the
#   NaN is gone itself, and is counted as one of the finite values: as 2, 3 or 1, by where it stands.
# Why it matters: one missing value in a column of labels or ids and the result says that there is
#   one class, or none is missing; nothing is reported.
# Instead: find NaN by IsNaN first and take it out (Compress), or map it to a sentinel by Where.
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
const FLOAT = 1, INT64 = 7;
const value = (field, name, type, dims) => bytes(field, [...text(1, name),
  ...bytes(2, bytes(1, [...int(1, type), ...(dims ? bytes(2, dims.flatMap((d) => bytes(1, int(1, d)))) : [])]))]);

async function run(op, opset, inputs, outputs, attributes = {}) {
  const node = bytes(1, [...inputs.flatMap((_, i) => text(1, `i${i}`)), ...outputs.flatMap((_, i) => text(2, `o${i}`)),
    ...text(4, op), ...Object.entries(attributes).flatMap(([k, v]) => bytes(5, [...text(1, k), ...int(3, v), ...int(20, 2)]))]);
  const graph = [...node, ...inputs.flatMap((t, i) => value(11, `i${i}`, FLOAT, t.dims)),
    ...outputs.flatMap((type, i) => value(12, `o${i}`, type))];
  const model = Uint8Array.from([...int(1, 10), ...bytes(7, [...text(2, 'g'), ...graph]),
    ...bytes(8, [...text(1, ''), ...int(2, opset)])]);
  const session = await ort.InferenceSession.create(model, { executionProviders: ['wasm'] });
  const result = await session.run(Object.fromEntries(inputs.map((t, i) => [`i${i}`, t])));
  await session.release();
  return outputs.map((_, i) => Array.from(result[`o${i}`].data, Number));
}
const floats = (xs, dims = [xs.length]) => new ort.Tensor('float32', Float32Array.from(xs), dims);

let failures = 0;
function expect(what, seen, holds) {
  failures += holds ? 0 : 1;
  console.log(`${holds ? 'seen   ' : 'CHANGED'} ${what}: ${seen}`);
}
console.log(`npm onnxruntime-web ${ort.env.versions.web}`);

const cases = [
  [[NaN, 3, 1, 2, 1], [NaN], [5]],
  [[3, NaN, 1, 2, 1], [1, 2, 3], [2, 1, 2]],
  [[3, 1, NaN, 2, 1], [1, 2, 3], [3, 1, 1]],
  [[3, 1, 2, 1, NaN], [1, 2, 3], [3, 1, 1]],
];
const same = (a, b) => a.length === b.length && a.every((v, i) => Object.is(v, b[i]));
for (const [xs, values, counts] of cases) {
  const [y, , inverse, count] = await run('Unique', 21, [floats(xs)], [FLOAT, INT64, INT64, INT64], { sorted: 1 });
  const back = inverse.map((i) => y[i]);
  expect(`Unique of ${xs.join(' ')}`, `${y.join(' ')}, counts ${count.join(' ')}, by the inverse ${back.join(' ')}`,
    same(y, values) && same(count, counts) && !same(back, xs));
}
const [plain] = await run('Unique', 21, [floats([3, 1, 2, 1])], [FLOAT, INT64, INT64, INT64], { sorted: 1 });
expect('without a NaN', plain.join(' '), same(plain, [1, 2, 3]));
console.log(failures ? `\nFAIL: ${failures} of these changed; read the list above`
                     : '\nholds: in Unique a NaN equals everything');
process.exit(failures ? 1 : 0);
JS
node "$tmp/probe.mjs"
