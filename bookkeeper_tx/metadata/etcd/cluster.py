"""A cluster's scope in etcd: made once, and checked for Java's layout."""

import uuid
from typing import Any

import construct

from bookkeeper_tx.errors import InvalidConfig, MetadataCorrupt, MetadataUnavailable
from bookkeeper_tx.metadata.etcd.channel import ConnectionLost
from bookkeeper_tx.metadata.etcd.client import EtcdClient, has_version, put, was_made_at
from protocol_specs.metadata import etcd_layout as spec
from protocol_specs.metadata.layout import LAYOUT_RECORD


class EtcdCluster:
    """The cluster at ``scope``."""

    def __init__(self, client: EtcdClient, scope: str) -> None:
        self._client = client
        self._scope = scope
        self._layout = f"{scope}/{spec.LAYOUT}"
        self._made_at = 0
        """The change that made its layout; 0 until that was checked."""

    def check(self) -> None:
        """Raise MetadataUnavailable if there is no cluster yet, InvalidConfig if it is laid out in another way.

        A cluster that was found once is not looked for again; see :meth:`is_there`.
        """
        if not self._made_at:
            self.check_again()

    def is_there(self) -> Any:
        """Return the condition that the cluster is still there; without one, raises what :meth:`check` raises.

        For changes that would begin a new cluster, with ids that bookies know already, where one was deleted.
        """
        self.check()
        return was_made_at(self._layout, self._made_at)

    def check_again(self) -> None:
        """Look for the cluster, and raise what :meth:`check` raises."""
        self._made_at = 0
        layout = self._client.read(self._layout)
        if layout is None:
            raise MetadataUnavailable(
                f"there is no cluster at {self._scope} in etcd at {self._client.hosts}: "
                "make one with `bktx cluster init`"
            )
        try:
            parts = LAYOUT_RECORD.parse(layout.value)
        except construct.ConstructError as error:
            raise MetadataCorrupt(f"{self._layout} is {layout.value[:80]!r}: {error}") from error
        if (parts.factory_class, parts.manager_version) != (spec.FACTORY_CLASS, spec.MANAGER_VERSION):
            name = parts.factory_class.decode("ascii", "replace")
            raise InvalidConfig(
                f"the cluster at {self._scope} in etcd at {self._client.hosts} has the layout {name!r}, "
                f"version {parts.manager_version!r}, which is not known"
            )
        self._made_at = layout.create_revision

    def initialize(self) -> bool:
        """Make the keys of a new cluster, in one transaction, unless there is one; return whether one was made.

        Raises InvalidConfig if its scope is somebody else's key, and what :meth:`check` raises of one that is there.
        """
        instance_id = str(uuid.uuid4()).encode("ascii")
        layout = LAYOUT_RECORD.build({"factory_class": spec.FACTORY_CLASS, "manager_version": spec.MANAGER_VERSION})
        records = {spec.LAYOUT: layout, spec.INSTANCE_ID: instance_id, **dict.fromkeys(spec.MARKERS, b"")}
        keys = {f"{self._scope}/{name}" if name else self._scope: value for name, value in records.items()}
        while True:
            try:
                made = self._client.transact(
                    [has_version(self._scope, None)], [put(key, value) for key, value in keys.items()]
                )
            except ConnectionLost:
                continue
            if made.succeeded:
                return True
            if self._client.read(self._layout) is None:
                raise InvalidConfig(
                    f"the key {self._scope} in etcd at {self._client.hosts} is somebody else's, and no cluster is "
                    "below it: choose another path in the metadata URI"
                )
            self.check()
            # An earlier attempt of this call, whose answer was lost, may have made it.
            return self.instance_id() == instance_id.decode("ascii")

    def instance_id(self) -> str | None:
        """Return the cluster's instance id, None if it has none."""
        found = self._client.read(f"{self._scope}/{spec.INSTANCE_ID}")
        return None if found is None else found.value.decode("ascii", "replace")
