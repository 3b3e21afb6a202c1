"""The child process that evaluates YAQL expressions.

Started by ``expression_sandbox`` with a socket as its standard input.  Answers one request
after the other until the socket is closed.  It must not outlive its limits: the kernel ends
it when an expression takes more processor time or memory than the request allows, whatever
function the time is spent in.
"""

from __future__ import annotations

import json
import resource
import signal
import socket
import sys
import time
from typing import Any

from heat_convergence.sandbox.frames import receive_frame, send_frame
from heat_convergence.template.functions import yaql
from heat_convergence.template.limits import YaqlCall

_OPEN_FILES = 16


def main() -> None:
    """Answer requests from standard input until it is closed."""
    _limit_process(int(sys.argv[1]))
    yaql.preload_grammar()
    with socket.socket(fileno=0) as connection:
        connection.setblocking(True)  # eventlet's sockets are not, on both ends of a pair
        while (frame := receive_frame(connection)) is not None:
            send_frame(connection, json.dumps(_answer(json.loads(frame))).encode())


def _limit_process(memory_bytes: int) -> None:
    """Bound what this process may take; it can't raise these limits again."""
    for limit, maximum in (
        (resource.RLIMIT_AS, memory_bytes),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, _OPEN_FILES),
    ):
        resource.setrlimit(limit, (maximum, maximum))
    # The default action of the timer's signal ends the process, in C code as well.
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    """Return the result of one expression, or the text of its error."""
    call = YaqlCall(**request)
    started_s = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, call.max_seconds)
    try:
        result = yaql.run_call(call)
        answer = {"value": result.value, "error": result.error, "steps_left": result.steps_left}
        json.dumps(answer)  # under the same limits
    except (MemoryError, RecursionError, ValueError) as error:
        reason = f"the result can't be used: {error}" if str(error) else "it takes too much memory"
        answer = {"value": None, "error": reason, "steps_left": 0}
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return answer | {"seconds": time.process_time() - started_s}


if __name__ == "__main__":
    main()
