"""scikit-learn's base classes, given to an estimator when it is first made: to import them takes two CPU seconds."""

import inspect
import sys
from threading import RLock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator, TransformerMixin

    class ScikitLater(TransformerMixin, BaseEstimator):  # type: ignore[misc]
        """What a type checker sees: the bases as they will be."""

else:

    class ScikitLater:
        """Stands in for ``TransformerMixin`` and ``BaseEstimator`` until a subclass is made, unpickled or derived from.

        From then on the subclass has those two as its bases and this one is gone from it. Where scikit-learn is
        loaded already, that is so from the beginning.
        """

        def __init_subclass__(cls, **options: Any) -> None:
            if ScikitLater in cls.__bases__:
                cls.__new__, cls.__signature__ = _new, _SignatureOfInit()
            if ScikitLater not in cls.__bases__ or "sklearn.base" in sys.modules:
                owner = _settle(cls)
                if cls is not owner:
                    super(owner, cls).__init_subclass__(**options)


class _SignatureOfInit:
    """How a class is called, though it has a ``__new__`` that takes anything."""

    def __get__(self, _: object, owner: Any) -> inspect.Signature:
        signature = inspect.signature(owner.__init__)
        return signature.replace(parameters=[*signature.parameters.values()][1:])


def _new(cls: type, *_: Any, **__: Any) -> Any:
    _settle(cls)
    return object.__new__(cls)


_lock = RLock()


def _settle(cls: type) -> type:
    """Give the class that stands on ``ScikitLater`` the bases it waits for; that class."""
    with _lock:
        owner: Any = next((each for each in cls.__mro__ if ScikitLater in each.__bases__), cls)
        if ScikitLater in owner.__bases__:
            from sklearn.base import BaseEstimator, TransformerMixin

            owner.__bases__ = (TransformerMixin, BaseEstimator)
            super(owner, owner).__init_subclass__()
        return owner  # type: ignore[no-any-return]
