# SPDX-License-Identifier: Apache-2.0
"""Stands for PopDist, which tells a process what PopRun started.

Its place in the sources: graphcore/popart docs/popart/tensor_locations.rst:132.
"""
import types

from .strict import need

instances, replicas = 1, 1  # of the run; the stand-in's user sets them


def getNumLocalReplicas():
    # graphcore/popart docs/popxl/distributed.rst:15
    need(replicas % instances == 0, f"{instances} processes do not divide {replicas} replicas")
    return replicas // instances


def _configure(options):
    options.enableReplicatedGraphs = getNumLocalReplicas() > 1
    options.replicatedGraphCount = getNumLocalReplicas()
    options.enableDistributedReplicatedGraphs = instances > 1
    options.globalReplicationFactor = replicas


def _device(ipus_per_replica=1):
    return ipus_per_replica * getNumLocalReplicas()


def _options(ipus_per_replica=1):
    from . import poptorch
    need(instances > 1, "PopRun started no processes")
    out = poptorch.Options()
    out.replicationFactor(getNumLocalReplicas())
    return out._set("num_distributed_processes", instances)


popart = types.SimpleNamespace(configureSessionOptions=_configure, getDevice=_device)
poptorch = types.SimpleNamespace(Options=_options)
