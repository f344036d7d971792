"""A target and a provider that other processes can be given."""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel

from extractkit.errors import AuthenticationError
from extractkit.messages import Capabilities, ModelRequest, ModelResponse
from extractkit.testing import FakeProvider


class Word(BaseModel):
    """A model with one field."""

    word: str


@dataclass(frozen=True)
class Scripted:
    """Answers with the word of the text, and notes who was asked for what in a folder.

    "slow" takes an hour, "deadly" ends the process, "mortal" the first one alone, "refused" has no
    key, "broken" is a fault of the program.
    """

    folder: Path
    name: str = "scripted"
    model: str = "scripted"

    @property
    def capabilities(self) -> Capabilities:
        """What a provider has that enforces nothing."""
        return FakeProvider(["{}"]).capabilities

    def complete(self, request: ModelRequest, *, timeout_s: float | None = None) -> ModelResponse:
        """Refuse: nobody asks so."""
        raise NotImplementedError

    async def acomplete(
        self, request: ModelRequest, *, timeout_s: float | None = None
    ) -> ModelResponse:
        """Return the answer."""
        text = "".join(message.content for message in request.messages)
        word = next(word for word in text.split() if "w-" in word)
        note = self.folder / word
        is_first = not note.exists()
        with note.open("a") as file:
            file.write(f"{os.getpid()}\n")
        if "deadly" in word or ("mortal" in word and is_first):
            await asyncio.sleep(0.3)  # so that others are under way, too
            os.kill(os.getpid(), 9)
        if "slow" in word:
            await asyncio.sleep(3600)
        if "refused" in word:
            raise AuthenticationError("no such key")
        if "broken" in word:
            raise ZeroDivisionError(word)
        return FakeProvider([json.dumps({"word": word})]).complete(request)

    def close(self) -> None:
        """Do nothing."""
