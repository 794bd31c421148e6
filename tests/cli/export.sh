#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A report in other programs' formats: export.sh SUPERSTEP JOBS
# shellcheck source=tests/cli/checks.sh
here=$(dirname -- "$(readlink -f -- "$0")")
source "$here/checks.sh"

run estimate "$given/toy-pipeline.json" -o toy.ssr --quiet
expect 0 out
for format in perfetto chrome speedscope collapsed csv dot markdown html onnx poprun vipu; do
  run export toy.ssr --to "$format" -o "toy.$format"
  expect 0 out "Wrote toy.$format: "
  [[ -s toy.$format ]] || complain "toy.$format is empty"
  run export toy.ssr --to "$format" -o -
  expect 0 out
  cmp -s out "toy.$format" || complain "standard output differs from toy.$format"
done

# The cycles of the step, as the report says: the root of the program.
run export toy.ssr --to csv --table program -o -
expect 0 out depth,name,kind,count,cycles
cycles=$(awk -F, 'NR == 2 {print $5}' out)
((cycles > 0)) || complain "the step has no cycles"
for detail in passes calls steps; do
  run export toy.ssr --to collapsed --detail "$detail" -o -
  expect 0 out
  sum=$(grep '^IPU 0;' out | awk '{sum += $NF} END {print sum}')
  [[ $sum == "$cycles" ]] || complain "stacks of IPU 0 ($detail) sum to $sum, expected $cycles"
done

# Perfetto's own names of the fields, by a program that reads nothing of ours but them.
protoc "--proto_path=$here/../../traces" --decode=superstep.perfetto.Trace track_event.proto <toy.perfetto >decoded
for text in 'name: "IPU 0"' 'name: "tile memory, fullest tile"' 'name: "micro_batch"' 'type: 1'; do
  grep -qF -- "$text" decoded || complain "not in the decoded trace: $text"
done
if grep -qE '^ *[0-9]+:' decoded; then complain "the trace has fields that the schema does not know"; fi
begins=$(grep -c '^    type: 1' decoded)
ends=$(grep -c '^    type: 2' decoded)
[[ $begins == "$ends" ]] || complain "$begins slices begin, $ends end"

run export toy.ssr --to chrome --cycles 0-1 --time ns --quiet -o short.json
expect 0 err
[[ ! -s out ]] || complain "quiet, but: $(head -c 200 out)"
(($(wc -c <short.json) < $(wc -c <toy.chrome))) || complain "a stretch is no shorter than the step"
# A model of its own, in the current folder or beside the report.
mkdir jobs models
cp "$given/bert-l2-h128-pod4.json" jobs
cp "$given/../models/bert_l2_h128.onnx" models
(cd jobs && "$superstep" estimate bert-l2-h128-pod4.json -o l2.ssr --quiet)
run export jobs/l2.ssr --to onnx -o l2.onnx
expect 0 out
run import l2.onnx
expect 0 out LayerNormalization
mv jobs/l2.ssr .
run export l2.ssr --to onnx -o none.onnx
expect 2 err '"../models/bert_l2_h128.onnx"' 'export in the folder of the job'
[[ ! -e none.onnx && ! -e none.onnx.part ]] || complain "there is no model, but a file"

if [[ -x ${superstep%/*}/superstep-view ]]; then
  run export toy.ssr --to svg -o toy.picture
  expect 0 out
  grep -q '<svg' toy.picture || complain "toy.picture is no SVG"
  run export toy.ssr --to png --view memory -o -
  expect 0 err
  [[ $(head -c 4 out | tr -d '\211') == PNG ]] || complain "standard output is no PNG"
  run export toy.ssr --to png --view memry -o none.png
  expect 2 err 'no view "memry" (did you mean "memory"?)'
  [[ ! -e none.png ]] || complain "there is no such view, but a picture"
  run view toy.ssr --export memory --page totals --theme contrast --size 900x700 -o totals.png
  expect 0 out
  [[ $(od -An -tu1 -j18 -N2 totals.png) == *' 3 132' ]] || complain "totals.png is not 900 pixels wide"
  run view toy.ssr --export memory --page total -o none.png
  expect 2 err 'found "total", expected one of: liveness, totals'
else
  run export toy.ssr --to svg -o toy.svg
  expect 2 err 'found no viewer'
fi

run export toy.ssr --to dot --json - -o toy.dot
expect 0 out '"format": "dot"'
finish
