"""The process that forks the processes in which expressions are evaluated.

Started by ``fork_server_client`` with a socket as its standard input.  It has everything
imported that an expression needs, so that a worker that exceeded its limits is replaced in
milliseconds.  Must not evaluate expressions itself: nothing may end it but its daemon.
"""

from __future__ import annotations

import gc
import os
import resource
import signal
import socket
import sys

from heat_convergence.sandbox.expression_worker import answer_requests
from heat_convergence.sandbox.fork_commands import ANSWER, COMMAND, FORK
from heat_convergence.template.functions import yaql_evaluation

_OPEN_FILES = 16


def main() -> None:
    """Fork workers for the daemon until it closes the socket."""
    _limit_process(int(sys.argv[1]))
    yaql_evaluation.preload_libraries()
    gc.collect()
    gc.freeze()  # workers share these objects as long as nothing writes to them
    with socket.socket(fileno=0) as control:
        control.setblocking(True)  # eventlet's sockets are not, on both ends of a pair
        while _serve_command(control):
            pass


def _serve_command(control: socket.socket) -> bool:
    """Do what the daemon asks for; False when it has closed the socket."""
    message, descriptors, _flags, _address = socket.recv_fds(control, COMMAND.size, 1)
    if len(message) < COMMAND.size:
        return False
    command, process_id = COMMAND.unpack(message)
    answer = _fork(control, descriptors[0]) if command == FORK else _end(process_id)
    control.sendall(ANSWER.pack(answer))
    return True


def _fork(control: socket.socket, descriptor: int) -> int:
    """Return the id of a new worker that answers the requests of a socket."""
    process_id = os.fork()
    if process_id:
        os.close(descriptor)
        return process_id
    status = 1
    try:
        control.close()
        with socket.socket(fileno=descriptor) as connection:
            answer_requests(connection)
        status = 0
    finally:
        os._exit(status)  # never returns into the loop of the parent


def _end(process_id: int) -> int:
    """End a worker and return the signal that it ended with, 0 if it ended by itself.

    Its id is not in use for another process before this has waited for it.
    """
    os.kill(process_id, signal.SIGKILL)
    _pid, status = os.waitpid(process_id, 0)
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


def _limit_process(memory_bytes: int) -> None:
    """Bound what this process and its workers may take; they can't raise these limits again."""
    for limit, maximum in (
        (resource.RLIMIT_AS, memory_bytes),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, _OPEN_FILES),
    ):
        resource.setrlimit(limit, (maximum, maximum))
    # The default action of the timers' signals ends a worker, in C code as well.
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


if __name__ == "__main__":
    main()
