"""Closes a socket that does not close, and ends."""

from __future__ import annotations

import sys
import threading

import pynng

from hotseat.nodes.nng_sockets import close_socket, open_socket

held = threading.Event()


def hold(pipe: object) -> None:
    held.set()
    threading.Event().wait()


inbox = open_socket(pynng.Pull0, listen="tcp://127.0.0.1:0")
inbox.add_post_pipe_connect_cb(hold)
peer = open_socket(pynng.Push0)
peer.dial(f"tcp://{inbox.listeners[0].local_address}", block=True)
held.wait()
close_socket(inbox)
sys.stdout.write("over")
