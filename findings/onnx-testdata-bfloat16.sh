#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Expected: in ONNX's backend test cases input_K.pb and output_K.pb have the type and shape that
#   model.onnx declares for them.
# Seen (Debian 12, libonnx-testdata 1.12.0-2): in the six bfloat16 casts of the node suite they do not.
#   What is declared as bfloat16 [3, 4] is stored as uint16; the operand "like" of the CastLike cases is
#   stored with shape [1] and declared as [3, 4].
# Why it matters: a runner that checks its inputs fails six cases for no fault of its backend's, and one
#   that trusts the file's type feeds bit patterns as integers and may even pass.
# Instead: take such values as their 16 bits, or leave the six cases out.
set -euo pipefail

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

(cd "$tmp" && apt-get download -q libonnx-testdata=1.12.0-2 >/dev/null && dpkg -x libonnx-testdata_*.deb data)
echo "libonnx-testdata 1.12.0-2"

cat >"$tmp/probe.mjs" <<'JS'
import fs from 'node:fs';

// The fields of a message in the protobuf wire format: {number: [values]}.
function fields(buffer) {
  const found = {};
  let at = 0;
  const varint = () => {
    let n = 0n, shift = 0n, byte;
    do { byte = buffer[at++]; n |= BigInt(byte & 127) << shift; shift += 7n; } while (byte & 128);
    return Number(n);
  };
  while (at < buffer.length) {
    const key = varint();
    let value;
    if ((key & 7) === 0) value = varint();
    else if ((key & 7) === 2) { const n = varint(); value = buffer.subarray(at, at += n); }
    else { const n = (key & 7) === 1 ? 8 : 4; value = buffer.subarray(at, at += n); }
    (found[key >> 3] ??= []).push(value);
  }
  return found;
}
const TYPES = {1: 'float32', 4: 'uint16', 10: 'float16', 16: 'bfloat16'};
const dims = (list) => `[${list}]`;
function declared(info) {
  const of = fields(fields(fields(info)[2][0])[1][0]);
  const shape = (fields(of[2][0])[1] ?? []).map((d) => fields(d)[1]?.[0]);
  return [TYPES[of[1][0]], dims(shape)];
}
function stored(path) {  // dims may be packed
  const tensor = fields(fs.readFileSync(path));
  const shape = (tensor[1] ?? []).flatMap((d) => (typeof d === 'number' ? [d] : [...d]));
  return [TYPES[tensor[2][0]], dims(shape)];
}
const node = `${process.argv[2]}/usr/share/libonnx-testdata/data/node`;
const differ = [];
for (const name of fs.readdirSync(node).filter((n) => /_cast(like)?_.*BFLOAT16/.test(n)).sort()) {
  const graph = fields(fields(fs.readFileSync(`${node}/${name}/model.onnx`))[7][0]);
  for (const [field, kind] of [[11, 'input'], [12, 'output']]) {
    graph[field].forEach((info, k) => {
      const says = declared(info).join(' '), has = stored(`${node}/${name}/test_data_set_0/${kind}_${k}.pb`).join(' ');
      if (says !== has) differ.push(`${name} ${kind} ${k}: declared ${says}, stored ${has}`);
    });
  }
}
differ.forEach((line) => console.log(`seen    ${line}`));
const holds = differ.length >= 6 && differ.some((l) => l.endsWith('declared bfloat16 [3,4], stored uint16 [3,4]')) &&
  differ.some((l) => l.endsWith('declared bfloat16 [3,4], stored uint16 [1]'));
console.log(holds ? '\nholds: bfloat16 is stored as uint16, and not always in its shape' : '\nFAIL: this changed');
process.exit(holds ? 0 : 1);
JS
node "$tmp/probe.mjs" "$tmp/data"
