"""Who was sent views of what, both ways round: to forget either in one step."""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["Watchers"]


class Watchers:
    """The processes, and clients behind them, that may be sent views of matches."""

    def __init__(self) -> None:
        self._matches: dict[str, dict[str | None, set[str]]] = {}
        self._by_match: dict[str, set[tuple[str, str | None]]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._matches.values()))

    def add(self, peer: str, client: str | None, match: str) -> None:
        """`client`, reached through `peer` (None: `peer` itself), watches `match`."""
        self._matches.setdefault(peer, {}).setdefault(client, set()).add(match)
        self._by_match.setdefault(match, set()).add((peer, client))

    def forget_peer(self, peer: str) -> Iterator[tuple[str | None, str]]:
        """Forget it with all clients behind it: (client, match), for each of them."""
        for client in list(self._matches.get(peer, ())):
            for match in self.forget_client(peer, client):
                yield client, match
        self._matches.pop(peer, None)

    def forget_client(self, peer: str, client: str | None) -> set[str]:
        """Forget one client; the matches that it watched."""
        matches = self._matches.get(peer, {}).pop(client, set())
        for match in matches:
            self._by_match[match].discard((peer, client))
        return matches

    def forget_match(self, match: str) -> None:
        """The match has left this node."""
        for peer, client in self._by_match.pop(match, ()):
            self._matches.get(peer, {}).get(client, set()).discard(match)
