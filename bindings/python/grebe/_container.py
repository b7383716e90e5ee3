"""Many indexes under one roof."""

import weakref

import grebe_core as core

from ._fields import Schema
from ._index import Index


class Container:
    """Named cores (indexes) in one folder, or in memory without a path.

    `core` opens or creates one; `close` closes all it gave. Leaving `with` commits
    and closes, after an exception it closes without a commit.
    """

    __slots__ = ("_h", "_given", "_path")

    def __init__(self, path=None, **options):
        """Opens the folder, which is made if missing. `options` as `grebe.open`."""
        self._h = core.container_open(path, options or None)
        self._path = path
        self._given = []

    def core(self, name, schema=None):
        """Opens or creates a core; each call gives an Index to close by itself.

        NotFoundError without a schema where there is no such core. ValueError for
        a name that is not `[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}`.
        """
        schema = Schema._of(schema)
        made = None if schema is None else schema._make()
        index = Index._wrap(core.container_core(self._h, name, made))
        self._given[:] = [ref for ref in self._given if ref() is not None]
        self._given.append(weakref.ref(index))
        index._kin = self._given
        return index

    def names(self):
        """Names of all cores, sorted by their bytes."""
        return core.container_names(self._h)

    def __contains__(self, name):
        return core.container_has(self._h, name)

    def __iter__(self):
        return iter(self.names())

    def __len__(self):
        return len(self.names())

    def drop(self, name):
        """Deletes a core and its files; open handles to it are closed.

        NotFoundError if there is none.
        """
        core.container_drop(self._h, name)

    @property
    def closed(self):
        """Whether it has been closed."""
        return self._h is None

    def close(self, commit=True):
        """Closes every index it gave, after a hard commit unless told otherwise.

        Twice is silent. After a failure the container stays open.
        """
        if self._h is None:
            return
        core.container_close(self._h, commit)
        self._h = None
        for ref in self._given:
            index = ref()
            if index is not None:
                index._h = None
        self._given.clear()

    def __enter__(self):
        core.container_names(self._h)
        return self

    def __exit__(self, kind, error, trace):
        self.close(commit=kind is None)

    def __repr__(self):
        if self._h is None:
            return "<grebe.Container closed>"
        return f"<grebe.Container {', '.join(self.names())}>"
