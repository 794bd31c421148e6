#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Expected: an unquoted name that DOT does not allow, such as conv.1, is a syntax error or
#   at least warned of; Graphviz does so for a.b, 10GiB and fusion.12.clone.
# Seen (npm @viz-js/viz 3.31.0 with Graphviz 16.1.0, graphlib-dot 0.6.4, ts-graphviz 3.0.7):
#   "conv.1 -> relu.2" is accepted without a word as three statements: a node conv, an edge
#   from .1 to relu, a node .2. So is a-1 -> b-2. Name and number are tokens of their own
#   (".1" and "-1" are numerals, hence names), and statements need nothing between them.
# Why it matters: XLA and many importers call their operators conv.1, add.2. A graph printed so
#   draws well but has other edges: two chains of two operators each become one star below,
#   critical paths and cuts are those of another graph, and operators of one number are one.
# Instead: quote every name; after reading a graph count nodes and edges, success says nothing.
set -euo pipefail

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

npm install --prefix "$tmp" --no-audit --no-fund --ignore-scripts --loglevel=error \
  @viz-js/viz@3.31.0 graphlib-dot@0.6.4 ts-graphviz@3.0.7 >/dev/null

cat >"$tmp/probe.mjs" <<'JS'
import fs from 'node:fs';
import { instance } from '@viz-js/viz';
import graphlib from 'graphlib-dot';
import { fromDot } from 'ts-graphviz';

const viz = await instance();
const named = (name) => `${name} ` + JSON.parse(fs.readFileSync(
  new URL(`node_modules/${name}/package.json`, import.meta.url))).version;
console.log(`npm ${named('@viz-js/viz')} (Graphviz ${viz.graphvizVersion}), ` +
            `${named('graphlib-dot')}, ${named('ts-graphviz')}`);

// Each reader tells the edges it found; Graphviz also the nodes and what it had to say.
function graphviz(text) {
  const { status, output, errors } = viz.render(text, { format: 'json' });
  if (status !== 'success') return 'refused: ' + errors.map((e) => e.level).join(', ');
  const { objects, edges = [] } = JSON.parse(output);
  return `nodes ${objects.map((o) => o.name).join(' ')}; edges ` + edges.map((e) =>
    `${objects[e.tail].name} -> ${objects[e.head].name}`).join(', ') + `; ${errors.length} messages`;
}
const byGraphlib = (text) => graphlib.read(text).edges().map((e) => `${e.v} -> ${e.w}`).join(', ');
const byTs = (text) => fromDot(text).edges.map((e) => e.targets.map((t) => t.id).join(' -> ')).join(', ');

let failures = 0;
function expect(what, seen, wanted) {
  failures += seen === wanted ? 0 : 1;
  console.log(`${seen === wanted ? 'seen   ' : 'CHANGED'} ${what}: ${seen}` +
              (seen === wanted ? '' : `\n        (was ${wanted})`));
}
function all(text, nodes, edges) {
  console.log('\n' + text);
  expect('Graphviz', graphviz(text), `nodes ${nodes}; edges ${edges}; 0 messages`);
  expect('graphlib-dot', byGraphlib(text), edges);
  expect('ts-graphviz', byTs(text), edges);
}

all('digraph { conv.1 -> relu.2 }', 'conv .1 relu .2', '.1 -> relu');
all('digraph { a-1 -> b-2 }', 'a -1 b -2', '-1 -> b');
all('digraph { conv.1 -> relu.2; add.1 -> exp.2 }', 'conv .1 relu .2 add exp', '.1 -> relu, .1 -> exp');
all('digraph { "conv.1" -> "relu.2"; "add.1" -> "exp.2" }', 'conv.1 relu.2 add.1 exp.2',
    'conv.1 -> relu.2, add.1 -> exp.2');

console.log('\nneighbours, in Graphviz');
expect('a.b -> c', graphviz('digraph { a.b -> c }'), 'refused: error');
expect('fusion.12.clone -> c', graphviz('digraph { fusion.12.clone -> c }'), 'refused: warning, error');
expect('10GiB -> c', graphviz('digraph { 10GiB -> c }'), 'nodes 10 GiB c; edges GiB -> c; 1 messages');

console.log(failures ? `\nFAIL: ${failures} of these changed; read the list above`
                     : '\nholds: an unquoted name with .N or -N at its end is split in silence');
process.exit(failures ? 1 : 0);
JS
node "$tmp/probe.mjs"
