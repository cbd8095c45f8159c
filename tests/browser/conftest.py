"""What tests with browsers have: one cluster, one Chromium, and people who come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from .rig import Cluster, Crowd, Visitor

Come = Callable[..., "Visitor"]

NO_PLAYWRIGHT = "no playwright here: pip install '.[dev]'"
"""Why test files are skipped; they ask for it before they import the rig."""


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Chromium, for all tests of this process."""
    from .rig import running_browser

    with running_browser() as browser:
        yield browser


@pytest.fixture(scope="package")
def cluster(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    """A cluster with a gateway and bots. Who kills a node waits until it is back."""
    from .rig import running_cluster

    with running_cluster(tmp_path_factory.mktemp("browser") / "c") as cluster:
        yield cluster


@pytest.fixture(scope="package")
def crowd(browser: Browser) -> Iterator[Crowd]:
    """People who have come before: a browser window of one's own takes a while."""
    from .rig import Crowd

    with Crowd(browser) as crowd:
        yield crowd


@pytest.fixture
def come(crowd: Crowd) -> Iterator[Come]:
    """Makes visitors, who must have had nothing to complain of in the end."""
    visitors: list[Visitor] = []

    def visitor(*, phone: bool = False) -> Visitor:
        visitors.append(crowd.take(phone=phone))
        return visitors[-1]

    yield visitor
    complaints = [complaint for each in visitors for complaint in each.complaints]
    for each in visitors:
        crowd.give_back(each)
    assert complaints == []
