"""A cluster's scope in etcd: made once, and checked for Java's layout."""

import uuid

import construct

from bookkeeper_tx.errors import InvalidConfig, MetadataCorrupt, MetadataUnavailable
from bookkeeper_tx.metadata.etcd.channel import ConnectionLost
from bookkeeper_tx.metadata.etcd.client import EtcdClient, has_version, is_there, put
from protocol_specs.metadata import etcd_layout as spec
from protocol_specs.metadata.layout import LAYOUT_RECORD


class EtcdCluster:
    """The cluster at ``scope``."""

    def __init__(self, client: EtcdClient, scope: str) -> None:
        self._client = client
        self._scope = scope
        self._layout = f"{scope}/{spec.LAYOUT}"
        self._checked = False
        self.is_there = is_there(self._layout)
        """The condition that the cluster is still there."""

    def check(self) -> None:
        """Raise MetadataUnavailable if there is no cluster yet, InvalidConfig if it is laid out in another way."""
        if self._checked:
            return
        layout = self._client.read(self._layout)
        if layout is None:
            raise self.missing()
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
        self._checked = True

    def check_again(self) -> None:
        """As :meth:`check`, also if it was there before: where nothing is found etcd may have been emptied."""
        self._checked = False
        self.check()

    def missing(self) -> MetadataUnavailable:
        """Return the error for a cluster that is not there, or not there any more."""
        self._checked = False
        return MetadataUnavailable(
            f"there is no cluster at {self._scope} in etcd at {self._client.hosts}: make one with `bktx cluster init`"
        )

    def initialize(self) -> bool:
        """Make the keys of a new cluster, in one transaction, unless there is one; return whether one was made."""
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
                    "below it: choose another path for the cluster"
                )
            self.check()
            # An earlier attempt of this call, whose answer was lost, may have made it.
            return self.instance_id() == instance_id.decode("ascii")

    def instance_id(self) -> str | None:
        """Return the cluster's instance id, None if it has none."""
        found = self._client.read(f"{self._scope}/{spec.INSTANCE_ID}")
        return None if found is None else found.value.decode("ascii", "replace")
