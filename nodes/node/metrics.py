"""A node's statistics as Prometheus metrics.

Every long-lived part tells its `statistics()`: a frozen dataclass of numbers, which may
hold others. Here each number becomes a metric, named after its place:
`hotseat_links_frames_sent_total`. Nothing is counted here, and no metric has a label
for a match: there are too many of them.

A dataclass says which of its fields are gauges, in a class variable `GAUGES`; the
others are counters, which only grow while the process lives. What is true or false is
a gauge always. A field that is neither a number nor statistics is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, get_args, get_type_hints

from prometheus_client import CollectorRegistry, GCCollector, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

__all__ = ["CONTENT_TYPE_LATEST", "MetricName", "Metrics", "Parts", "metric_names"]

PREFIX = "hotseat"

Parts = Callable[[], Mapping[str, object]]
"""Gives the statistics of each part of a node, by its name, as they are now."""

UNITS = {"_s": "_seconds", "_ms": "_milliseconds"}
"""What our names end in, and what Prometheus wants them to end in."""


@dataclass(frozen=True, slots=True)
class MetricName:
    """One metric: its name as exposed, its kind, and the statistics it stands in."""

    name: str
    kind: str
    of: type
    field: str


class Metrics:
    """Text for a scraper; what it says is read when it is asked.

    `parts` gives the statistics of each part by its name; `facts` are told as the
    labels of `hotseat_node_info`.
    """

    def __init__(self, parts: Parts, facts: Mapping[str, str]) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(_Statistics(parts, facts))
        ProcessCollector(registry=self._registry)
        GCCollector(registry=self._registry)

    def text(self) -> bytes:
        """All metrics, in the text format of Prometheus."""
        return generate_latest(self._registry)


def metric_names(parts: Mapping[str, type]) -> Iterator[MetricName]:
    """The metrics that parts with statistics of these types make.

    Raises:
        TypeError: Statistics that do not say which of their fields are gauges.
    """
    for name, kind in parts.items():
        yield from _names((PREFIX, name), kind)


def _names(path: tuple[str, ...], statistics: type) -> Iterator[MetricName]:
    hints = get_type_hints(statistics)
    for field in fields(statistics):
        for kind in _alternatives(hints[field.name]):
            if is_dataclass(kind):
                yield from _names((*path, field.name), kind)
            elif issubclass(kind, int | float):
                gauge = kind is bool or field.name in _gauges(statistics)
                name = _full_name(path, field.name)
                if not gauge:
                    name += "_total"
                yield MetricName(
                    name, "gauge" if gauge else "counter", statistics, field.name
                )


def _alternatives(hint: Any) -> tuple[type, ...]:
    """The classes of `X` and of `X | None`; none of anything else."""
    kinds = get_args(hint) if isinstance(hint, UnionType) else (hint,)
    return tuple(
        kind for kind in kinds if isinstance(kind, type) and kind is not NoneType
    )


class _Statistics(Collector):
    def __init__(self, parts: Parts, facts: Mapping[str, str]) -> None:
        self._parts = parts
        self._facts = dict(facts)

    def describe(self) -> Iterable[Metric]:
        return ()  # so that registering does not collect

    def collect(self) -> Iterable[Metric]:
        info = GaugeMetricFamily(
            f"{PREFIX}_node_info", "Which node this is.", labels=[*self._facts]
        )
        info.add_metric([*self._facts.values()], 1)
        yield info
        for name, statistics in self._parts().items():
            for path, one, field, value in _numbers((PREFIX, name), statistics):
                kind = GaugeMetricFamily if _is_gauge(one, field) else _counter
                of = f"{type(one).__name__}.{field}"
                yield kind(_full_name(path, field), of, value=float(value))


def _counter(name: str, documentation: str, value: float) -> Metric:
    return CounterMetricFamily(name, documentation, value=value)


def _numbers(
    path: tuple[str, ...], statistics: object
) -> Iterator[tuple[tuple[str, ...], Any, str, int | float]]:
    """Each number: the names that lead to it, what it is a field of, name, value."""
    assert is_dataclass(statistics), f"{statistics!r} is no dataclass"
    for field in fields(statistics):
        value = getattr(statistics, field.name)
        if isinstance(value, int | float):
            yield path, statistics, field.name, value
        elif is_dataclass(value):
            yield from _numbers((*path, field.name), value)


def _is_gauge(statistics: Any, field: str) -> bool:
    kind = type(statistics)
    return field in _gauges(kind) or isinstance(getattr(statistics, field), bool)


def _gauges(statistics: type) -> frozenset[str]:
    gauges: frozenset[str] | None = getattr(statistics, "GAUGES", None)
    if gauges is None:
        raise TypeError(f"{statistics.__name__} does not declare its GAUGES")
    return gauges


def _full_name(path: tuple[str, ...], field: str) -> str:
    for ours, theirs in UNITS.items():
        if field.endswith(ours):
            field = field.removesuffix(ours) + theirs
    return "_".join((*path, field))
