"""The players' door: WebSockets and HTTP in front, the cluster's links behind.

Any number of gateways may run; none holds anything that a match needs. What each file
is for: `serve` the process, `app` its paths, `connection` one player's WebSocket,
`conversation`, `hosted` and `patched` the protocol without I/O, `api`, `*_api` and
`openapi` the HTTP API, `bounded_server`, `secured` and `origins` what keeps harm away.
"""

from __future__ import annotations
