#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Expected: a reader of pprof profiles gives back the signed 64-bit numbers that the format
#   has for sample values, numeric labels, period and duration: what was -3 is -3 again.
# Seen (npm pprof-format 2.3.2): it writes -3 rightly, but reads it as 18446744073709551613n,
#   its own bytes and those of others alike. Positive numbers are right (Number below 2^28,
#   BigInt from there). Encoding again gives the first bytes, so a round trip looks sound.
# Why it matters: the difference of two profiles is a profile with negative values: what got
#   faster. Read so, every gain is 1.8e19 lost, and a total, a sort or a percentage follows
#   it; the sum of the plain case below comes out 18446744073709552000 instead of -1.
# Instead: pass each signed field through BigInt.asIntN(64, BigInt(value)) after decode (ids
#   and addresses are truly unsigned); or decode with protobufjs and int64 in the .proto.
set -euo pipefail

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

npm install --prefix "$tmp" --no-audit --no-fund --ignore-scripts --loglevel=error \
  pprof-format@2.3.2 protobufjs@8.8.1 >/dev/null

cat >"$tmp/probe.mjs" <<'JS'
import fs from 'node:fs';
import { Label, Profile, Sample, StringTable, ValueType } from 'pprof-format';
import protobuf from 'protobufjs';

// The part of pprof's message that is needed here, as its .proto has it.
const reference = protobuf.parse(`syntax = "proto3";
message Profile {
  repeated Sample sample = 2;
  int64 duration_nanos = 10;
  int64 period = 12;
}
message Sample { repeated int64 value = 2; repeated Label label = 3; }
message Label { int64 key = 1; int64 num = 3; }
`).root.lookupType('Profile');

// A profile "after minus before" of one value per sample; the samples need no stack here.
function difference(values) {
  const strings = new StringTable();
  return new Profile({
    stringTable: strings,
    sampleType: [new ValueType({ type: strings.dedup('cycles'), unit: strings.dedup('count') })],
    sample: values.map((v) => new Sample({ locationId: [], value: [v],
      label: [new Label({ key: strings.dedup('change'), num: v })] })),
    period: values.at(-1),
    durationNanos: values.at(-1),
  });
}

const fields = (p) => ({
  values: p.sample.map((s) => s.value[0]), labels: p.sample.map((s) => s.label[0].num),
  period: p.period, duration: p.durationNanos });
const byReference = (bytes) => {
  const p = reference.toObject(reference.decode(bytes), { longs: BigInt });
  return fields(p);
};

let failures = 0;
function expect(what, seen, wanted) {
  const print = (v) => JSON.stringify(v, (_, x) => (typeof x === 'bigint' ? `${x}n` : x));
  const ok = print(seen) === print(wanted);
  failures += ok ? 0 : 1;
  console.log(`${ok ? 'seen   ' : 'CHANGED'} ${what}:\n        ${print(seen)}` +
              (ok ? '' : ` (was ${print(wanted)})`));
}
const all = (values) => ({ values, labels: values, period: values.at(-1), duration: values.at(-1) });

const version = (name) => JSON.parse(fs.readFileSync(
  new URL(`node_modules/${name}/package.json`, import.meta.url))).version;
console.log(`npm pprof-format ${version('pprof-format')}, protobufjs ${version('protobufjs')}`);

const gains = [2, -3];
const huge = [-(2 ** 40), -1];
const losses = [2, 3, 2 ** 28 - 1, 2 ** 28, 2 ** 40];
const unsigned = (v) => BigInt.asUintN(64, BigInt(v));

const bytes = difference(gains).encode();
expect('2 and -3, read by protobufjs', byReference(bytes), all(gains.map(BigInt)));
const seen = Profile.decode(bytes);
expect('2 and -3, read by pprof-format', fields(seen), all([2, 18446744073709551613n]));
expect('their sum as numbers', fields(seen).values.reduce((a, v) => a + Number(v), 0),
       18446744073709552000);
expect('encoded again, the bytes are the same',
       Buffer.compare(Buffer.from(seen.encode()), Buffer.from(bytes)), 0);
expect('-2^40 and -1, read by pprof-format', fields(Profile.decode(difference(huge).encode())),
       all(huge.map(unsigned)));

const foreign = reference.encode(reference.fromObject({ sample: [{ value: ['2', '-3'] }] })).finish();
expect('2 and -3 as protobufjs wrote them, read by pprof-format',
       Profile.decode(foreign).sample[0].value, [2, 18446744073709551613n]);

expect('positive numbers, read by pprof-format', fields(Profile.decode(difference(losses).encode())),
       all([2, 3, 268435455, 268435456n, 1099511627776n]));
expect('2 and -3, folded back by BigInt.asIntN',
       fields(seen).values.map((v) => BigInt.asIntN(64, BigInt(v))), [2n, -3n]);

console.log(failures ? `\nFAIL: ${failures} of these changed; read the list above`
                     : '\nholds: what a difference profile gained is read as a loss of 1.8e19');
process.exit(failures ? 1 : 0);
JS
node "$tmp/probe.mjs"
