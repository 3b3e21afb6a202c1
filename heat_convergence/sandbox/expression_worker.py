"""The work of a process that evaluates YAQL expressions.

Called by ``fork_server`` in each process that it forks.  Answers one request after the other
until the socket is closed.  It must not outlive its limits: the kernel ends it when an
expression takes more processor time, time by the clock or memory than the request allows,
whatever function the time is spent in.
"""

from __future__ import annotations

import json
import signal
import socket
import time
from typing import Any

from heat_convergence.common.strict_json import encode_json
from heat_convergence.sandbox.frames import receive_frame, send_frame
from heat_convergence.template.functions import yaql_evaluation
from heat_convergence.template.limits import YaqlCall


def answer_requests(connection: socket.socket) -> None:
    """Answer requests until the other side closes the connection."""
    connection.setblocking(True)
    while (frame := receive_frame(connection)) is not None:
        send_frame(connection, encode_json(_answer(json.loads(frame))))


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    """Return the result of one expression, or the text of its error."""
    call = YaqlCall(**request)
    started_s = time.process_time()
    signal.setitimer(signal.ITIMER_REAL, call.max_wall_seconds or 0)
    signal.setitimer(signal.ITIMER_PROF, call.max_seconds)
    try:
        result = yaql_evaluation.run_call(call)
        answer = {"value": result.value, "error": result.error, "steps_left": result.steps_left}
        encode_json(answer)  # under the same limits
    except (MemoryError, RecursionError, ValueError) as error:
        reason = f"the result can't be used: {error}" if str(error) else "it takes too much memory"
        answer = {"value": None, "error": reason, "steps_left": 0}
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
    return answer | {"seconds": time.process_time() - started_s}
