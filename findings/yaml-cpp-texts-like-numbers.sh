#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Expected: a text that yaml-cpp writes is read as a text by another YAML library; what would be
#   taken for another type is quoted.
# Seen (yaml-cpp 0.7.0, Debian 0.7.0+dfsg-8+b1; js-yaml 4.1.0): the emitter quotes "null", "~" and
#   the empty text, but no text that looks like a number or a truth value. std::string values
#   "true", "0x1F", "12e34" and "016" are written bare, and js-yaml reads true, 31, 1.2e+35 and 16.
# Why it matters: short commit hashes, version numbers, zero-padded names of runs and answers such
#   as "true" come back as other values, for some rows only: a hash that has letters besides one e
#   stays a text. What was lost (leading zeros, digits) cannot be had back.
# Instead: ask for quotes, with YAML::DoubleQuoted before each text that is data, or
#   Emitter::SetStringFormat(YAML::DoubleQuoted) for all.
set -euo pipefail

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

cd "$tmp"
apt-get -o APT::Sandbox::User=root -q -q download libyaml-cpp-dev=0.7.0+dfsg-8+b1 libyaml-cpp0.7=0.7.0+dfsg-8+b1 >/dev/null
for package in ./*.deb; do
  dpkg-deb --show "$package"
  dpkg-deb -x "$package" root
done
library=$(dirname -- "$(find root -name libyaml-cpp.so.0.7 -print -quit)")
npm install --prefix "$tmp" --no-audit --no-fund --ignore-scripts --loglevel=error js-yaml@4.1.0 >/dev/null

cat >probe.cc <<'CC'
#include <yaml-cpp/yaml.h>

#include <iostream>
#include <string>

int main(int count, char**) {
  YAML::Emitter out;
  if (count > 1) out.SetStringFormat(YAML::DoubleQuoted);
  out << YAML::BeginSeq;
  for (const char* text : {"null", "~", "", "true", "0x1F", "12e34", "016", "3fa9c1b"}) out << std::string(text);
  out << YAML::EndSeq;
  std::cout << out.c_str() << "\n";
}
CC
cat >read.cjs <<'JS'
const yaml = require('js-yaml');
const texts = yaml.load(require('fs').readFileSync(0, 'utf8'));
console.log(texts.map((v) => `${typeof v} ${v}`).join(', '));
JS
g++ -std=c++17 -Iroot/usr/include probe.cc -L"$library" -lyaml-cpp -o probe
export LD_LIBRARY_PATH=$library
{ ./probe | node read.cjs; ./probe quoted | node read.cjs; } | tee seen.txt

diff - seen.txt <<'SEEN'
string null, string ~, string , boolean true, number 31, number 1.2e+35, number 16, string 3fa9c1b
string null, string ~, string , string true, string 0x1F, string 12e34, string 016, string 3fa9c1b
SEEN
echo "as stated: yaml-cpp 0.7.0 writes texts that look like numbers or truth values without quotes"
