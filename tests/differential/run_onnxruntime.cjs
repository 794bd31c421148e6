// SPDX-License-Identifier: Apache-2.0
// Runs models in ONNX Runtime: node run_onnxruntime.cjs PACKAGES FOLDER FIRST
// FOLDER/list.json: [{folder, inputs: [{name, type, dims, from, bytes}]}], values of inputs in FOLDER/values.bin.
// Writes each model's output_K.pb, and a line of JSON for each: {start} before, {refused} or {done} after it.
const fs = require('fs');
const path = require('path');

const [packages, root, first] = process.argv.slice(2);
const ort = require(require.resolve('onnxruntime-node', {paths: [packages]}));

const CODES = {float32: 1, uint8: 2, int8: 3, uint16: 4, int16: 5, int32: 6, int64: 7, bool: 9, float16: 10,
  float64: 11, uint32: 12, uint64: 13};
const ARRAYS = {float32: Float32Array, uint8: Uint8Array, int8: Int8Array, uint16: Uint16Array, int16: Int16Array,
  int32: Int32Array, int64: BigInt64Array, bool: Uint8Array, float16: Uint16Array, float64: Float64Array,
  uint32: Uint32Array, uint64: BigUint64Array};
const OPTIONS = {executionProviders: ['cpu'], graphOptimizationLevel: 'disabled', intraOpNumThreads: 1,
  interOpNumThreads: 1, logSeverityLevel: 4};

const varint = (n) => (n < 128 ? [n] : [(n & 127) | 128, ...varint(Math.floor(n / 128))]);

function tensorFile(tensor) {
  const head = [...tensor.dims.flatMap((d) => [8, ...varint(d)]), 16, ...varint(CODES[tensor.type])];
  const data = Buffer.from(tensor.data.buffer, tensor.data.byteOffset, tensor.data.byteLength);
  return Buffer.concat([Buffer.from([...head, 74, ...varint(data.length)]), data]);
}

function inputTensor(input, values) {
  const bytes = values.subarray(input.from, input.from + input.bytes);
  const copy = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
  return new ort.Tensor(input.type, new ARRAYS[input.type](copy), input.dims);
}

async function run(one, values) {
  const session = await ort.InferenceSession.create(path.join(one.folder, 'model.onnx'), OPTIONS);
  try {
    const feeds = Object.fromEntries(one.inputs.map((input) => [input.name, inputTensor(input, values)]));
    const results = await session.run(feeds);
    session.outputNames.forEach((name, k) => {
      if (!CODES[results[name].type]) throw new Error(`result of type ${results[name].type}`);
      fs.writeFileSync(path.join(one.folder, 'test_data_set_0', `output_${k}.pb`), tensorFile(results[name]));
    });
  } finally {
    await session.release();
  }
}

async function main() {
  const list = JSON.parse(fs.readFileSync(path.join(root, 'list.json')));
  const values = fs.readFileSync(path.join(root, 'values.bin'));
  const say = (line) => fs.writeSync(1, JSON.stringify(line) + '\n');
  for (let i = Number(first); i < list.length; ++i) {
    say({start: i});
    try {
      await run(list[i], values);
      say({done: i});
    } catch (error) {
      say({refused: i, why: String(error.message).slice(0, 400)});
    }
  }
}

main();
