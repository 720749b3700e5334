"""Changes to dictionaries, in steps that can be taken back one by one."""

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

_ABSENT: Any = object()


class Reversible:
    """Every change since ``begin`` is one step; ``back`` takes the last step back.

    Only so many of the last steps are remembered that they hold ``most`` entries together.

    >>> changes, colors = Reversible(), {"sky": "blue"}
    >>> changes.begin()
    >>> changes.put(colors, {"sky": "red", "sun": "gold"})
    >>> changes.back(), colors, changes.back()
    (True, {'sky': 'blue'}, False)
    """

    def __init__(self, most: int = 500_000) -> None:
        self._steps: deque[list[tuple[dict[Any, Any], dict[Any, Any]]]] = deque()
        self._sizes: deque[int] = deque()
        self._room = most

    def begin(self) -> None:
        self._steps.append([])
        self._sizes.append(0)

    def put(self, mapping: dict[Any, Any], entries: Mapping[Any, Any], before: dict[Any, Any] | None = None) -> None:
        """Set entries; ``before`` are the values they have, where the caller knows them anyway."""
        self._remember(mapping, {key: mapping.get(key, _ABSENT) for key in entries} if before is None else before)
        mapping.update(entries)

    def drop(self, mapping: dict[Any, Any], keys: Iterable[Any]) -> None:
        """Remove keys, those that are not there too."""
        there = {key: mapping[key] for key in keys if key in mapping}
        self._remember(mapping, there)
        for key in there:
            del mapping[key]

    def back(self) -> bool:
        """Whether the last step is taken back; False where it is no longer remembered."""
        if not self._steps:
            return False
        for mapping, before in reversed(self._steps.pop()):
            for key, value in before.items():
                if value is _ABSENT:
                    del mapping[key]
                else:
                    mapping[key] = value
        self._room += self._sizes.pop()
        return True

    def _remember(self, mapping: dict[Any, Any], before: dict[Any, Any]) -> None:
        if not self._steps:  # the step itself was too large to be remembered
            return
        self._steps[-1].append((mapping, before))
        self._sizes[-1] += len(before)
        self._room -= len(before)
        while self._room < 0 and self._steps:
            self._steps.popleft()
            self._room += self._sizes.popleft()
