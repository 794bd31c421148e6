# SPDX-License-Identifier: Apache-2.0
"""Stands for PopRun and V-IPU: runs a written script with commands that only say their arguments, and reads these."""
import argparse
import os
import pathlib
import subprocess
import tempfile

from .strict import Refused, need

DOMAIN = 64  # IPUs of an IPU-Link domain


class Parser(argparse.ArgumentParser):
    def __init__(self):
        super().__init__(allow_abbrev=False, add_help=False)

    def error(self, message):
        raise Refused(message)


def arguments_of(path, command, *program):
    """The arguments that the script gives to the command."""
    with tempfile.TemporaryDirectory() as folder:
        said = pathlib.Path(folder, command)
        said.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n', encoding="utf-8")
        said.chmod(0o755)
        environment = {"PATH": f"{folder}:{os.environ['PATH']}", "PARTITION": "one of ours"}
        done = subprocess.run(
            ["sh", "-eu", path, *program], env=environment, capture_output=True, text=True, check=False)
        need(done.returncode == 0, done.stderr)
        return done.stdout.splitlines()


def yes_or_no(text):
    need(text in ("yes", "no"), f"yes or no, not {text}")
    return text == "yes"


def check_poprun(path):
    """The PopDist and PopRun user guide; graphcore/popart docs/popxl/distributed.rst:91."""
    parser = Parser()
    for name in ("--num-replicas", "--num-instances"):
        parser.add_argument(name, type=int, required=True)
    for name in ("--ipus-per-replica", "--num-ilds"):
        parser.add_argument(name, type=int, default=1)
    parser.add_argument("--vipu-partition")
    parser.add_argument("--update-partition", type=yes_or_no)
    parser.add_argument("program", nargs=argparse.REMAINDER)
    given = parser.parse_args(arguments_of(path, "poprun", "python3", "train.py"))
    need(given.program == ["python3", "train.py"], "the program is not what the script is given")
    need(given.vipu_partition == "one of ours", "the partition is not $PARTITION")
    replicas, instances, ipus = given.num_replicas, given.num_instances, given.num_replicas * given.ipus_per_replica
    need(min(replicas, instances, given.ipus_per_replica, given.num_ilds) > 0, "counts are above 0")
    need(replicas % instances == 0, f"{instances} instances do not divide {replicas} replicas")
    # graphcore/popart docs/popxl/distributed.rst:29
    need(instances % given.num_ilds == 0, "each IPU-Link domain has one process at least, and all as many")
    need(ipus <= DOMAIN * given.num_ilds, f"{given.num_ilds} IPU-Link domains have no {ipus} IPUs")
    need(ipus // instances <= DOMAIN, f"a process has {ipus // instances} IPUs")


def check_vipu(path):
    """The V-IPU user guide, partitions."""
    parser = Parser()
    parser.add_argument("verb", choices=["create"])
    parser.add_argument("noun", choices=["partition"])
    parser.add_argument("name")
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--reconfigurable", action="store_true")
    parser.add_argument("--sync-type", choices=["c2-compatible", "pod-native-default"])
    parser.add_argument("--num-gcds", type=int, default=1)
    parser.add_argument("--total-num-replicas", type=int, default=1)
    given = parser.parse_args(arguments_of(path, "vipu"))
    need(given.name == "one of ours", "the partition is not $PARTITION")
    size, domains, replicas = given.size, given.num_gcds, given.total_num_replicas
    need(size > 0 and size & (size - 1) == 0, f"the size of a partition is a power of 2, not {size}")
    need(not given.reconfigurable or domains == 1, "a reconfigurable partition has one graph compilation domain")
    need(size % domains == 0 and size // domains <= DOMAIN, f"{domains} graph compilation domains of {size} IPUs")
    need(domains == 1 or replicas % domains == 0,
         f"{domains} graph compilation domains do not divide {replicas} replicas")
