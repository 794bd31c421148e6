#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Expected: normalising [b, b+1, b+2, b+3] gives -1.342, -0.447, 0.447, 1.342 whatever b is, as long as
#   fp32 holds the four numbers (all here do); and a group, an instance and a layer that are the same
#   four numbers are normalised alike.
# Seen (npm onnxruntime-web 1.30.0, CPU): LayerNormalization does so for b up to 1e6. GroupNormalization with
#   one group gives -474, -158, 158, 474 at b = 1e4 and 1e5, and NaN at 1e6: there the variance, 1.25, has become
#   0 and less than 0. InstanceNormalization is right to three digits at 1e4, and to one at 1e7.
#   MeanVarianceNormalization of four equal numbers is NaN, where its ONNX function adds 1e-9 and gives 0.
# Why it matters: raw 16-bit images, temperatures in kelvin or sums of many channels come with such
#   offsets; three norms that are one function by definition then train and serve different networks.
# Instead: subtract a mean first (ReduceMean, Sub), or reshape to use LayerNormalization.
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

const one = floats([1]), zero = floats([0]), ones = floats([1, 1, 1, 1]);
const four = (b) => [b, b + 1, b + 2, b + 3];
const norms = {
  layer: async (b) => (await run('LayerNormalization', 21, [floats(four(b), [1, 4]), ones], [FLOAT]))[0],
  instance: async (b) => (await run('InstanceNormalization', 21, [floats(four(b), [1, 1, 4]), one, zero], [FLOAT]))[0],
  group: async (b) =>
    (await run('GroupNormalization', 21, [floats(four(b), [1, 1, 4]), one, zero], [FLOAT], { num_groups: 1 }))[0],
};
const wanted = { layer: [1.342, 1.342, 1.342, 1.342], instance: [1.342, 1.342, 1.344, 1.313],
                 group: [1.342, 474.342, 474.342, NaN] };
const bases = [0, 1e4, 1e5, 1e6];
for (const [name, of] of Object.entries(norms)) {
  for (const [i, b] of bases.entries()) {
    const y = await of(b);
    const first = -y[0];
    const holds = Number.isNaN(wanted[name][i]) ? Number.isNaN(first) : Math.abs(first - wanted[name][i]) < 6e-4;
    expect(`${name} of ${four(b).join(' ')}`, y.map((v) => v.toFixed(3)).join(' '), holds);
  }
}
const [constant] = await run('MeanVarianceNormalization', 13, [floats([5, 5, 5, 5], [1, 1, 2, 2])], [FLOAT]);
expect('MeanVarianceNormalization of 5 5 5 5', constant.join(' '), constant.every(Number.isNaN));
console.log(failures ? `\nFAIL: ${failures} of these changed; read the list above`
                     : '\nholds: an offset spoils GroupNormalization, not LayerNormalization');
process.exit(failures ? 1 : 0);
JS
node "$tmp/probe.mjs"
