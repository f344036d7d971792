"""What a reference points to, inside one JSON Schema document.

`read` asks this room for the place and a name of each reference. Nothing is ever fetched: a
reference that leaves the document is an error. So is one that leads to different places by
different ways: nodes have no way to say that.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote, urljoin

from extractkit.errors import SchemaError
from extractkit.paths import JsonObject, JsonValue, Pointer, is_array, is_object, split
from extractkit.schema.resources import Resource, Resources

__all__ = ["REFERENCES", "References", "Target"]

REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")


@dataclass(frozen=True, slots=True)
class Target:
    """What a reference leads to.

    Attributes:
        name: A name for it, the same for every reference that leads there.
        schema: What stands there.
        resource: The resource that it is part of, from which references in it count.
    """

    name: str
    schema: JsonValue
    resource: Resource


class References:
    """Names and places of everything that one document refers to."""

    def __init__(self, schema: JsonObject, draft: int) -> None:
        """Prepare to look for references.

        Args:
            schema: The document.
            draft: What it is written in, as `drafts` names it.
        """
        self._names: dict[tuple[str, int], str] = {}
        self._uses: dict[str, int] = {}
        self.resources = Resources(schema, draft)

    def find(self, keyword: str, reference: JsonValue, here: Resource, at: Pointer) -> Target:
        """Return what `reference` leads to.

        Args:
            keyword: One of REFERENCES.
            reference: Its value.
            here: The resource in which it stands.
            at: Where the reference stands in the user's document, for the error.

        Raises:
            SchemaError: If it leaves the document, points nowhere, or depends on the way there.
        """
        if not isinstance(reference, str):
            raise _error(f'"{keyword}" is {reference!r:.60}, expected a string; correct it', at)
        before, _, fragment = reference.partition("#")
        fragment = unquote(fragment)
        resource = self._resource(before, reference, here, at)
        if keyword != "$ref":
            resource = self._outermost(keyword, resource, fragment, at)
        if fragment and not fragment.startswith("/"):
            found = self.resources.anchor(resource.uri, fragment)
            if found is None:
                raise _dangling(reference, at)
            stem, part = found
        elif fragment:
            stem = split(fragment)[-1]
            resource, part = self._walk(resource, fragment, reference, at)
        else:
            stem, part = resource.name, resource.schema
        return Target(self._name(stem, resource, part), part, resource)

    def _resource(self, before: str, reference: str, here: Resource, at: Pointer) -> Resource:
        if not before:
            return here
        found = self.resources.resource(urljoin(here.uri, before))
        if found is None:
            raise _error(
                f'$ref "{reference}" leaves the document, and nothing is ever fetched; put what '
                'it means under "$defs", with the address as its "$id" or a reference to it',
                at,
            )
        return found

    def _outermost(self, keyword: str, target: Resource, name: str, at: Pointer) -> Resource:
        """Return the resource in which a reference of the dynamic kind ends on every way.

        The document itself is the outermost on each; else there must be only one candidate.
        """
        if name.startswith("/"):
            return target
        resources = self.resources
        if keyword == "$dynamicRef":
            candidates = resources.dynamic(target.uri, name)
        else:
            candidates = resources.recursive(target.uri)
        if not candidates:
            return target
        if resources.root in candidates:
            return resources.root
        if len(candidates) > 1:
            raise _error(
                f'"{keyword}" to "#{name}" means one of {len(candidates)} schemas, depending on '
                'the way there; write a "$ref" to the one that is meant',
                at,
            )
        return candidates[0]

    def _walk(
        self, resource: Resource, pointer: Pointer, reference: str, at: Pointer
    ) -> tuple[Resource, JsonValue]:
        """Return what stands at `pointer`, and the resource that it is part of."""
        here: JsonValue = resource.schema
        for token in split(pointer):
            if is_object(here) and token in here:
                here = here[token]
            elif is_array(here) and token.isdecimal() and int(token) < len(here):
                here = here[int(token)]
            else:
                raise _dangling(reference, at)
            if is_object(here):
                resource = self.resources.enter(resource, here, token)
        return resource, here

    def _name(self, stem: str, resource: Resource, part: JsonValue) -> str:
        # The document is not changed while it is read, so that parts are told apart by identity.
        key = resource.uri, id(part)
        if key not in self._names:
            name = stem = re.sub(r"[^A-Za-z0-9_.-]", "_", stem) or "definition"
            while name in self._uses:
                self._uses[stem] += 1
                name = f"{stem}_{self._uses[stem]}"
            self._uses[name] = 1
            self._names[key] = name
        return self._names[key]


def _dangling(reference: str, at: Pointer) -> SchemaError:
    return _error(
        f'$ref "{reference:.200}" points nowhere in the document; add the definition or correct '
        "the reference",
        at,
    )


def _error(message: str, at: Pointer) -> SchemaError:
    return SchemaError(f"{at or '(root)'}: {message}", pointer=at)
