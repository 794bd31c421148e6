#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long a search takes again after one pin changed, tables warm: bench/questions.py PROGRAM [JOB] [ROUNDS].

Each round asks a fresh `superstep serve` for the best plan of the job, then for the best with each of the pins below:
those that the first plan has, others, and some that nothing fits. Tables that no question before needed are made then.
All are asked again with the length of a training, which makes them other questions that need the same tables. Medians
over the rounds, of the clock on the wall: asked first, of it what tables took, and with all tables there.
"""
import json
import statistics
import subprocess
import sys
import time

PINS = [
    {"micro_batch": 1}, {"micro_batch": 2},
    {"pipeline_stages": 1}, {"pipeline_stages": 2}, {"pipeline_stages": 8},
    {"replicas": 4}, {"replicas": 16},
    {"tensor_parallel": 8}, {"tensor_parallel": 16},
    {"recompute": "layer"}, {"recompute": "stage"},
    {"io_tiles": 32}, {"schedule": "interleaved"}, {"prefetch_depth": 1}, {"available_memory_proportion": 0.2},
    {"location": {"activations": "streaming"}}, {"location": {"optimizer_state": "in_processor"}},
    {"replicated_tensor_sharding": {"optimizer_state": 1}},
]


def ask(server, job, pins):
    """Seconds that the answer took, and the answer."""
    request = {"id": 1, "top": 1, "pareto": False, "time_limit": 0}
    request["job"] = {**job, "plan": {**job.get("plan", {}), **pins}}
    start = time.perf_counter()
    server.stdin.write(json.dumps(request) + "\n")
    server.stdin.flush()
    answer = json.loads(server.stdout.readline())
    if "error" in answer:
        sys.exit(f"{json.dumps(pins)}: {answer['error']}")
    return time.perf_counter() - start, answer


def round_of_questions(program, job):
    """Of each question the seconds and the answer, when it is asked first and when all tables are there; the first is
    the job's own."""
    server = subprocess.Popen([program, "serve", "--quiet"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    again = {**job, "train_for": {"samples": 300_000_000}}
    answers = [[ask(server, of, pins) for pins in [{}, *PINS]] for of in (job, again)]
    server.stdin.close()
    server.wait()
    return answers


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    program, file, rounds = (sys.argv[1:] + ["data/jobs/gpt3-175b-pod256-batch128.json", "3"][len(sys.argv) - 2:])[:3]
    with open(file) as text:
        job = json.load(text)
    all_rounds = [round_of_questions(program, job) for _ in range(int(rounds))]
    first, apart, warm = [], [], []
    for i, pins in enumerate([{}, *PINS]):
        seconds, again = (statistics.median(r[k][i][0] for r in all_rounds) for k in (0, 1))
        tables = statistics.median(r[0][i][1]["search"]["table_seconds"] for r in all_rounds)
        answer = all_rounds[0][0][i][1]
        best = answer["best"]["label"] if answer.get("best") else "nothing fits"
        print(f"{seconds * 1e3:6.0f} ms, tables {tables * 1e3:4.0f}; again {again * 1e3:4.0f} ms, "
              f"{answer['search']['programmes']:5} programmes  {json.dumps(pins):55} {best}")
        if pins:
            first.append(seconds)
            apart.append(seconds - tables)
            warm.append(again)
    for what, times in (("asked first", first), ("without the time of tables", apart), ("with all tables there", warm)):
        print(f"{statistics.median(times) * 1e3:6.0f} ms median of {len(PINS)} questions {what}, "
              f"{max(times) * 1e3:.0f} at most, {min(times) * 1e3:.0f} at least")


if __name__ == "__main__":
    main()
