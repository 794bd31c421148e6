# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What ./superstep and ./check share: install what is missing, configure, build. Sourced, with `root` set.
# Everything here speaks on standard error: standard output belongs to the program that is started.
# Errors are returned, not left to `set -e`, which is off inside conditions.
: "${root:?is set by the script that sources this one}"

say() { printf '%s\n' "$*" >&2; }

# One line that is written over again on a terminal; silent elsewhere.
progress() { [[ ! -t 2 ]] || printf '\r\033[K%s' "${*:0:100}" >&2; }
progress_done() { [[ ! -t 2 ]] || printf '\r\033[K' >&2; }

# packages_of SECTION...: the names listed in those sections of packages.txt.
packages_of() {
  local wanted=" $* " section="" line
  while IFS= read -r line; do
    line=${line%%#*}
    read -r line <<<"$line" || true
    if [[ $line == \[*\] ]]; then
      section=${line:1:-1}
    elif [[ -n $line && $wanted == *" $section "* ]]; then
      printf '%s\n' "$line"
    fi
  done <"$root/.ci/packages.txt"
}

purpose_of() { sed -n "s/^$1 *# *//p" "$root/.ci/packages.txt"; }

# Names of the given packages that dpkg does not call installed.
missing_packages() {
  local installed
  installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "$@" 2>/dev/null | sed -n 's/^installed //p') || true # dpkg-query fails when one is unknown
  comm -23 <(printf '%s\n' "$@" | sort -u) <(sort -u <<<"$installed")
}

# May we install without asking? As root, in CI, or told so.
may_install() { [[ ${assume_yes:-0} == 1 || ${CI:-} == true || ${CI:-} == 1 || $EUID == 0 ]]; }

install_packages() {
  local as_root=() answer
  [[ $EUID == 0 ]] || as_root=(sudo)
  local command=("${as_root[@]}" apt-get install -y --no-install-recommends "$@")
  say "These packages are missing:"
  local name
  for name in "$@"; do say "$(printf '  %-22s %s' "$name" "$(purpose_of "$name")")"; done
  if ! command -v apt-get >/dev/null; then
    say "This is no Debian system: install them, or what stands for them here, and start again."
    return 1
  fi
  if ! may_install; then
    if [[ ! -t 0 ]]; then
      say "Install them with:  ${command[*]}"
      say "or start again with --yes."
      return 1
    fi
    read -r -p "Install them with \"${command[*]}\"? [Y/n] " answer >&2 || answer=n
    [[ ${answer:-y} == [Yy]* ]] || return 1
  fi
  if [[ $EUID != 0 ]] && ! command -v sudo >/dev/null; then
    say "sudo is missing: as root, run  apt-get install -y --no-install-recommends $*"
    return 1
  fi
  local log
  log=$(mktemp)
  say "Installing $# packages ..."
  if ! { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"; } >"$log" 2>&1; then
    tail -n 30 "$log" >&2
    rm -f "$log"
    return 1
  fi
  rm -f "$log"
}

# need_packages SECTION...: at once when the list has not changed since all of them were found.
need_packages() {
  local stamp names missing
  stamp="$root/build/.packages-$(tr ' ' - <<<"$*")"
  [[ ! $stamp -nt $root/.ci/packages.txt ]] || return 0
  mapfile -t names < <(packages_of "$@")
  if command -v dpkg-query >/dev/null; then
    mapfile -t missing < <(missing_packages "${names[@]}")
    [[ ${#missing[@]} == 0 ]] || install_packages "${missing[@]}" || return 1
  elif ! command -v cmake >/dev/null || ! command -v ninja >/dev/null; then
    install_packages "${names[@]}" || return 1
  fi
  mkdir -p "$root/build" && touch "$stamp"
}

# configured_value PRESET NAME FALLBACK: a cached setting of the build folder.
configured_value() {
  local found
  found=$(sed -n "s/^$2:[A-Z]*=//p" "$root/build/$1/CMakeCache.txt" 2>/dev/null) || true
  printf '%s' "${found:-$3}"
}

# configured PRESET [-DNAME=VALUE...]: is the build folder of this source, and does it agree with the presets and values?
configured() {
  local folder="$root/build/$1" cache="$root/build/$1/CMakeCache.txt" value
  [[ -f $folder/build.ninja && ! $root/CMakePresets.json -nt $folder/.configured ]] || return 1
  grep -qsxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$cache" || return 1
  for value in "${@:2}"; do
    value=${value#-D}
    [[ $(configured_value "$1" "${value%%=*}" "") == "${value#*=}" ]] || return 1
  done
}

# configure PRESET [-DNAME=VALUE...]: at once when it was done and nothing that decides it has changed.
configure() {
  local folder="$root/build/$1" fresh=()
  ! configured "$@" || return 0
  mkdir -p "$folder"
  progress "configuring $1 ..."
  grep -qsxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$folder/CMakeCache.txt" || fresh=(--fresh)
  if ! (cd "$root" && cmake --preset "$1" "${fresh[@]}" "${@:2}") >"$folder/configure.log" 2>&1; then
    progress_done
    sed -n '/^CMake Error/,$p' "$folder/configure.log" | head -n 40 >&2
    say "Configuring failed; the whole log is in $folder/configure.log"
    return 1
  fi
  progress_done
  touch "$folder/.configured"
}

# time_left SECONDS_SO_FAR DONE ALL: for people; empty before it can be told.
time_left() {
  local seconds
  (($1 >= 5 && $2 > 0)) || return 0
  seconds=$(($1 * ($3 - $2) / $2))
  if ((seconds >= 90)); then printf ', some %d minutes left' $(((seconds + 30) / 60)); else printf ', %d seconds left' "$seconds"; fi
}

# build PRESET TARGET...: progress, as one line on a terminal and as a line each half minute elsewhere; what the
# compiler said only if it failed.
build() {
  local preset=$1 folder="$root/build/$1" log="$root/build/$1/build.log" line start=$SECONDS spoke=$SECONDS now
  shift
  if ! NINJA_STATUS='[%f/%t] ' ninja -C "$folder" "$@" 2>&1 | tee "$log" |
    while IFS= read -r line; do
      [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]] || continue
      now="building $preset: ${BASH_REMATCH[1]} of ${BASH_REMATCH[2]} files"
      now+=$(time_left $((SECONDS - start)) "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}")
      progress "$now"
      if [[ ! -t 2 ]] && ((SECONDS - spoke >= 30)); then
        say "$now"
        spoke=$SECONDS
      fi
    done; then
    progress_done
    sed -n '/^FAILED:/,$p; /^ninja: error/p' "$log" | head -n 60 >&2
    say "Building failed; the whole log is in $log"
    return 1
  fi
  progress_done
}
