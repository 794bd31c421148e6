#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Expected: in a Chrome trace a span of zero length is drawn as nothing (or a hairline)
#   and leaves the other spans of its thread alone.
# Seen (npm speedscope 1.25.0): if it starts at the very time another span starts on that
#   thread, its end is met before its start and dropped. It then stays open to the end of
#   the profile, the spans around it are never closed either, later ones nest under it,
#   and the time after the last change is cut off: a 100 us run becomes 50 us, half of it
#   in a span of 0 us. Well-ordered B/E pairs fare no better than X events.
# Why it matters: a simulator's free step, or a time rounded to whole microseconds, makes
#   such spans at the start of a phase; the picture looks sound, only the console is told.
# Instead: leave zero-length spans out, write them as instants (ph "i") or 1 ns long, or
#   export speedscope's own evented format, where the order in the file decides.
set -euo pipefail

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

npm install --prefix "$tmp" --no-audit --no-fund --ignore-scripts --loglevel=error \
  speedscope@1.25.0 >/dev/null

cat >"$tmp/probe.cjs" <<'JS'
const fs = require('fs');
const path = require('path');
const vm = require('vm');

const warnings = [];

// speedscope is published as one script for a web page. Its importer sits in a part that
// the page loads on demand; this opens that part without a page.
function openImporter() {
  const dir = path.join(__dirname, 'node_modules/speedscope/dist/release');
  const file = fs.readdirSync(dir).find((f) => /^speedscope-.*\.js$/.test(f));
  const code = fs.readFileSync(path.join(dir, file), 'utf8');
  const exported = /var ([\w$]+)=\{\};[\w$]+\(\1,\{[^{}]*importProfileGroupFromText:/.exec(code);
  const loaded = exported &&
    new RegExp(`\\.then\\(\\(\\)=>\\(([\\w$]+)\\(\\),${exported[1].replace(/\$/g, '\\$')}\\)\\)`)
      .exec(code);
  const start = '(()=>{';
  const at = code.indexOf(start);
  if (!loaded || at < 0) throw new Error('the importer is not where it was in the package');
  const hook = `globalThis.openImporter=()=>(${loaded[1]}(),${exported[1]});`;
  const page = {
    console: { log() {}, warn: (line) => warnings.push(line), error() {} },
    TextDecoder, TextEncoder, URL, setTimeout, clearTimeout, performance,
  };
  page.window = page;
  vm.createContext(page);
  const head = at + start.length;
  try {
    vm.runInContext(code.slice(0, head) + hook + code.slice(head), page);
  } catch (e) {
    // The page's own part wants a browser; all the importer needs has run before it.
  }
  return page.openImporter();
}

// Lists the spans of a profile as drawn: indented by depth, with start and end.
function drawn(profile) {
  const spans = [];
  const open = [];
  profile.forEachCall(
    (node, at) => {
      const span = { depth: open.length, name: node.frame.name, start: at };
      spans.push(span);
      open.push(span);
    },
    (node, at) => { open.pop().end = at; });
  return spans.map((s) => '  '.repeat(s.depth) + `${s.name} ${s.start}..${s.end}`);
}

const X = (name, ts, dur) => ({ name, ph: 'X', ts, dur, pid: 1, tid: 1 });
const mark = (ph, name, ts) => ({ name, ph, ts, pid: 1, tid: 1 });
const around = (sync) => [X('run', 0, 100), X('compute', 10, 20), ...sync, X('exchange', 40, 10)];
const sound = ['run 0..100', '  compute 10..30', '  exchange 40..50'];
const broken = ['run 0..50', '  compute 10..50', '    sync 10..50', '      exchange 40..50'];
const pairs = [['B', 'run', 0], ['B', 'compute', 10], ['B', 'sync', 10], ['E', 'sync', 10],
  ['E', 'compute', 30], ['B', 'exchange', 40], ['E', 'exchange', 50], ['E', 'run', 100]];
const names = ['run', 'compute', 'sync', 'exchange'];
const evented = {
  $schema: 'https://www.speedscope.app/file-format-schema.json',
  shared: { frames: names.map((name) => ({ name })) },
  profiles: [{ type: 'evented', name: 'p', unit: 'microseconds', startValue: 0, endValue: 100,
    events: pairs.map(([ph, name, at]) =>
      ({ type: ph === 'B' ? 'O' : 'C', frame: names.indexOf(name), at })) }],
};

const cases = [
  ['no sync', around([]), sound],
  ['sync of 0 us at 10, where compute starts', around([X('sync', 10, 0)]), broken],
  ['the same as ordered B/E pairs', pairs.map((p) => mark(...p)), broken],
  ['sync of 0 us at 0, where run starts',
    [X('run', 0, 100), X('sync', 0, 0), X('exchange', 40, 10)],
    ['run 0..50', '  sync 0..50', '    exchange 40..50']],
  ['sync of 0 us at 30, between compute and an exchange that starts there',
    [X('run', 0, 100), X('compute', 10, 20), X('sync', 30, 0), X('exchange', 30, 10)],
    ['run 0..30', '  compute 10..30']],
  ['sync of 0 us at 20, where nothing else starts', around([X('sync', 20, 0)]), sound],
  ['sync as an instant at 10', around([{ ...mark('i', 'sync', 10), s: 't' }]), sound],
  ['sync of 1 ns at 10', around([X('sync', 10, 0.001)]),
    ['run 0..100', '  compute 10..30', '    sync 10..10.001', '  exchange 40..50']],
  ['the B/E pairs in speedscope\'s own evented format', evented, sound],
];

(async () => {
  const version = require('speedscope/package.json').version;
  console.log(`npm speedscope ${version}: spans as drawn, in us`);
  const importer = openImporter();
  let failures = 0;
  for (const [what, trace, wanted] of cases) {
    warnings.length = 0;
    const group = await importer.importProfileGroupFromText('trace.json', JSON.stringify(trace));
    const seen = drawn(group.profiles[0]);
    const ok = JSON.stringify(seen) === JSON.stringify(wanted);
    failures += ok ? 0 : 1;
    console.log(`\n${ok ? 'seen   ' : 'CHANGED'} ${what}`);
    seen.forEach((line) => console.log('        ' + line));
    if (warnings.length) console.log('        console: ' + warnings[0]);
    if (!ok) console.log('        (was: ' + wanted.map((l) => l.trim()).join(', ') + ')');
  }
  console.log(failures ? `\nFAIL: ${failures} of these changed; read the list above`
                       : '\nholds: one span of no length unhinges the rest of its thread');
  process.exit(failures ? 1 : 0);
})().catch((e) => { console.error('FAIL: ' + (e && e.stack || e)); process.exit(1); });
JS
node "$tmp/probe.cjs"
