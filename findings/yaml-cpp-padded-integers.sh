#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Expected: what number a YAML scalar is does not depend on the C++ type that it is asked for as.
# Seen (yaml-cpp 0.7.0, Debian 0.7.0+dfsg-8+b1): a number with leading zeros has its base from the
#   type. "010" is 8 as int and 10 as double; "0100" is 64 and 100. "08" has no value as int and
#   is 8 as double. YAML 1.2 has no such octal numbers: there 010 is ten, and 0o10 is eight.
# Why it matters: numbers padded for alignment or sorting (node counts as 004, 008, 016) are read
#   right up to 007, 010 to 077 are read as smaller ones without a word, and 008 is an error. A
#   program that reads one key as int and another as double disagrees with itself.
# Instead: take the text with Scalar() and convert it in base ten (std::from_chars), or write
#   numbers without padding.
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

cat >probe.cc <<'CC'
#include <yaml-cpp/yaml.h>

#include <iostream>

template <class T>
std::string read(const char* text) {
  try {
    std::ostringstream out;
    out << YAML::Load(text).as<T>();
    return out.str();
  } catch (const YAML::Exception&) {
    return "no value";
  }
}

int main() {
  for (const char* text : {"007", "010", "0100", "08", "10"})
    std::cout << text << ": " << read<int>(text) << " as int, " << read<double>(text) << " as double\n";
}
CC
g++ -std=c++17 -Iroot/usr/include probe.cc -L"$library" -lyaml-cpp -o probe
LD_LIBRARY_PATH=$library ./probe | tee seen.txt

diff - seen.txt <<'SEEN'
007: 7 as int, 7 as double
010: 8 as int, 10 as double
0100: 64 as int, 100 as double
08: no value as int, 8 as double
10: 10 as int, 10 as double
SEEN
echo "as stated: yaml-cpp 0.7.0 reads padded numbers in base eight as int, in base ten as double"
