"""Answers that are kept, so that an equal request is sent once: a folder, or any mapping of texts.

Neighbours: `api` looks answers up and keeps them; `messages` has what is kept. Nothing here sends,
judges or knows a target, and what it reads is JSON values alone, each with a checksum.
"""

from __future__ import annotations

from extractkit.cache._entry import key_of, read_entry, write_entry
from extractkit.cache._folder import Cache

__all__ = ["Cache", "key_of", "read_entry", "write_entry"]
