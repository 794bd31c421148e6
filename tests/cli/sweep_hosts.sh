#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A grid under mpirun on two hosts, network namespaces with names and shared memory of their own, joined by a pair of
# virtual interfaces; ranks, rank 0, and a whole host are killed midway: sweep_hosts.sh SUPERSTEP SWEEPS
# shellcheck source=tests/cli/ranks.sh
source "$(dirname -- "$(readlink -f -- "$0")")/ranks.sh"
a=superstep-a-$$ b=superstep-b-$$
# shellcheck disable=SC2317  # called at the end
remove_hosts() {
  { ip netns pids "$a"; ip netns pids "$b"; } 2>/dev/null | xargs -r kill -9
  ip netns delete "$a" 2>/dev/null || true
  ip netns delete "$b" 2>/dev/null || true
  rm -rf "$place"
}
trap remove_hosts EXIT
make_hosts() {
  ip netns add "$a" && ip netns add "$b" && ip link add v0 netns "$a" type veth peer name v0 netns "$b" || return 1
  local host address=1
  for host in "$a" "$b"; do
    ip -n "$host" address add 192.0.2.$address/24 dev v0 && ip -n "$host" link set v0 up || return 1
    ip -n "$host" link set lo up || return 1
    address=$((address + 1))
  done
  ip netns exec "$a" unshare --uts --mount true
}
if ! make_hosts 2>problem; then
  echo "skipped: network namespaces cannot be made here (root needed): $(head -n 1 problem)"
  exit 77
fi

# HOST COMMAND...: there. mpirun calls it with an address, and the words of its command are for a shell.
cat >enter <<END
#!/bin/bash
host=\$1
shift
[[ \$host != 192.0.2.2 ]] || host=$b
exec ip netns exec "\$host" unshare --uts --mount bash -c \
  "hostname \$host; mount -t tmpfs tmpfs /dev/shm; cd '$PWD'; exec \$*"
END
chmod +x enter
printf '192.0.2.1 slots=2\n192.0.2.2 slots=2\n' >hosts
small_sweep '"500 kB/s", "1 MB/s", "2 MB/s"'
"$superstep" sweep sweep.json --format csv --threads 2 >alone.csv || true

# start OPTIONS: two ranks on each host; rank 2 and 3 are on the second.
start() {
  rm -f err
  timeout -k 5 100 ./enter "$a" mpirun "$@" --hostfile hosts -n 4 --mca plm_rsh_agent "$PWD/enter" \
    --mca btl_tcp_if_include v0 --mca oob_tcp_if_include v0 \
    "$superstep" sweep "$PWD/sweep.json" -o $results --format csv --threads 1 --lost-after 3 --progress json \
    >out 2>err &
  mpi=$!
}
ended() {  # WHAT
  local code=0
  wait $mpi || code=$?
  ((code != 124)) || complain "$1: mpirun does not end"
}
resumed() {  # WHAT: rows are there, not all; the same command plans the others.
  local before
  before=$(rows)
  ((before >= 6 && before < 36)) || complain "$1: $before rows, expected some of 36"
  start --enable-recovery
  ended "$1, resumed"
  same_as_alone out "$1, resumed"
}

start
ended "nobody killed"
same_as_alone out "nobody killed"
! grep -q 'lost, ' err || complain "nobody killed: $(grep lost err)"

rm $results
start --enable-recovery
wait_for_rows 6 $mpi
kill_ranks 1
wait_for_rows 12 $mpi
kill_ranks 3
ended "a rank on each host killed"
same_as_alone out "a rank on each host killed"
for rank in 1 3; do grep -q "rank $rank was lost, with item" err || complain "not said: rank $rank was lost"; done

# Without --enable-recovery, mpirun ends all.
rm $results
start
wait_for_rows 6 $mpi
kill_ranks 2
ended "no recovery"
resumed "no recovery"

rm $results
start --enable-recovery
wait_for_rows 6 $mpi
kill_ranks 0
ended "rank 0 killed"
resumed "rank 0 killed"

# All processes of the second host, mpirun's among them.
rm $results
start
wait_for_rows 6 $mpi
ip netns pids "$b" | xargs -r kill -9
ended "a host killed, no recovery"
resumed "a host killed, no recovery"

# The first host finishes the work. mpirun does not see the end.
rm $results
start --enable-recovery
wait_for_rows 6 $mpi
ip netns pids "$b" | xargs -r kill -9
wait_for_rows 36 $mpi
for ((i = 0; i < 200; ++i)); do
  ! cmp -s out alone.csv || break
  sleep 0.05
done
same_as_alone out "a host killed"
finish
