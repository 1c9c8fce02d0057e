"""Runs workflows of three steps on DBOS, and prints how many end in a second once
all wait.

Usage: dbos_peer.py URL RUNS WORKERS
"""

import sys
import time

from dbos import DBOS, DBOSClient

URL, RUNS, WORKERS = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
QUEUE = "runs"

DBOS(config={"name": "bench", "system_database_url": URL, "log_level": "WARNING"})


@DBOS.step()
def step(number: int) -> str:
    return f"The move is on Friday ({number})."


@DBOS.workflow()
def brief(number: int) -> str:
    return " ".join(step(it) for it in range(3))


DBOS.launch()
client = DBOSClient(system_database_url=URL)
options = {"workflow_name": brief.__qualname__, "queue_name": QUEUE}
handles = [client.enqueue(options, it) for it in range(RUNS)]
begun = time.monotonic()
DBOS.register_queue(QUEUE, worker_concurrency=WORKERS, polling_interval_sec=0.01)
for handle in handles:
    handle.get_result(polling_interval_sec=0.01)
print(RUNS / (time.monotonic() - begun))
client.destroy()
DBOS.destroy()
