"""A server on this machine that answers, in the place of hosted ones, what a page says it does."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from unittest import mock

from tests.server import chat, decisions, messages, responses
from tests.server.answers import Answer
from tests.server.loopback import Loopback
from tests.server.script import Recorded, Reply, json_reply

_BODIES = {"chat/completions": chat.body, "responses": responses.body, "messages": messages.body}


@contextlib.contextmanager
def answering(text: str) -> Iterator[Loopback]:
    """Have every hosted model and the default one answer `text`, through the environment."""

    def reply(request: Recorded) -> Reply:
        endpoint = request.path.partition("?")[0].partition("/v1/")[2]
        if endpoint == "decisions":  # the text is a list: one probability, or several, a question
            return decisions.deciding(*json.loads(text))(request)
        return json_reply(_BODIES[endpoint](Answer(text=text)))

    with Loopback() as server:
        server.play_by(reply)
        settings = {
            "ANTHROPIC_API_KEY": "none",
            "ANTHROPIC_BASE_URL": server.url,
            "AWS_REGION": "us-east-1",
            "AZURE_OPENAI_API_KEY": "none",
            "EXTRACTKIT_BASE_URL": server.openai_url,
            "EXTRACTKIT_MODEL": "compatible:stand-in",
            "OPENAI_API_KEY": "none",
            "OPENAI_BASE_URL": server.openai_url,
        }
        with mock.patch.dict(os.environ, settings):
            yield server
