"""How the two threads of `extract_many` hand over to each other."""

from __future__ import annotations

import asyncio

from extractkit.batch import _many


def test_what_has_ended_is_handed_over_though_much_else_is_under_way() -> None:
    async def endless() -> int:
        await asyncio.Event().wait()
        return 0

    async def ended() -> int:
        return 1

    with _many._Aside[int]() as aside:  # pyright: ignore[reportPrivateUsage]  # as drivers do
        for _ in range(40):
            aside.begin(endless())
        aside.begin(ended())
        assert aside.next() == [1]
        aside.begin(ended())
        assert aside.next() == [1]
