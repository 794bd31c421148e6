#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Configurations of other programs as jobs: import_configuration.sh SUPERSTEP JOBS
# shellcheck source=tests/cli/checks.sh
source "$(dirname -- "$(readlink -f -- "$0")")/checks.sh"
configurations="$given/../configurations"

run import "$configurations/bert-poptorch-pretraining.yml" --name pretrain_large_128 -o bert.json --json bert_result.json
expect 0 out 'Wrote bert.json' 'machine: the smallest IPU-POD with 16 IPUs'
keys bert_result.json format no_equal job
run estimate bert.json
expect 0 out 't=1 p=4 r=4 m=8 g=2048'

# Without a file to write the job goes to standard output.
run import "$configurations/gptj-popxl.yml" --name gptj_6B_1024_pod16
expect 0 out '"tensor_parallel": 16' '"notes"'
python3 -m json.tool out >/dev/null || complain "standard output is no JSON"

run import "$configurations/bert-poptorch-pretraining.yml"
expect 2 err 'expected --name with one of: ' 'pretrain_large_128'
run import "$configurations/bert-poptorch-pretraining.yml" --name pretrain_large_128 --set layers_per_ipu
expect 2 err '--set: found "layers_per_ipu", expected KEY=VALUE'
run import "$configurations/bert-poptorch-pretraining.yml" --name pretrain_large_128 --set 'layers_per_ipu=[3, 7, 7]'
expect 2 err 'layers_per_stage'
run import "$configurations/bert-poptorch-pretraining.yml" --name pretrain_large_128 -o no/such/folder/job.json
expect 2 err 'no/such/folder'
finish
