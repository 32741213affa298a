"""A ZooKeeper as operators secure it: TLS, and users with passwords (SASL DIGEST-MD5)."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from attrs import field, frozen
from kazoo.client import KazooClient
from kazoo.security import ACL

from bookkeeper_tx.security.metadata_security import MetadataSecurity
from bookkeeper_tx.security.sasl import SaslClient
from bookkeeper_tx.security.tls_config import TlsConfig
from compat_tests.targets.cluster import Cluster
from compat_tests.targets.unavailable import Unavailable
from compat_tests.targets.zookeeper import ZooKeeper
from tests.certificates import Authority, Identity

USER, PASSWORD = "bookkeeper", "secret"
JAAS_FILE = "java.security.auth.login.config"
_LOGIN = "org.apache.zookeeper.server.auth.DigestLoginModule required"


@frozen
class SecuredZooKeeper:
    """A running server, and what clients need for it."""

    server: ZooKeeper
    directory: Path
    authority: Authority

    @property
    def hosts(self) -> str:
        """``host:port`` with TLS."""
        return f"localhost:{self.server.secure_port}"

    def uri(self, root: str) -> str:
        return f"zk://{self.hosts}{root}"

    def cluster(self, root: str) -> "SecuredCluster":
        return SecuredCluster(self.hosts, root, secured=self)

    def new_client(self) -> KazooClient:
        login = {"mechanism": "DIGEST-MD5", "username": USER, "password": PASSWORD}
        return KazooClient(self.server.hosts, sasl_options=login)

    @contextmanager
    def session(self) -> Iterator[KazooClient]:
        """A session of the user, in clear."""
        client = self.new_client()
        client.start(30)
        try:
            yield client
        finally:
            client.stop()
            client.close()

    def acls(self, root: str) -> dict[str, list[ACL]]:
        """Return the access list of each node of a cluster."""
        with self.session() as client:
            found, left = {}, [root]
            while left:
                path = left.pop()
                found[path] = client.get_acls(path)[0]
                left += [f"{path}/{each}" for each in client.get_children(path)]
            return found

    def security(self, password: str = PASSWORD, *, creator_only: bool = True, **tls: Any) -> MetadataSecurity:
        """What our programs are given."""
        fields = {"trust_path": str(self.authority.path), "hostname_verification": True, **tls}
        login = SaslClient(USER, password)
        return MetadataSecurity(tls=TlsConfig(**fields), login=login, creator_only=creator_only)

    def properties(self) -> dict[str, object]:
        """The same as system properties of Java, which has no DIGEST-MD5 in FIPS mode, its default since 3.9."""
        return {**self.keys(), "zookeeper.fips-mode": "false"}

    def keys(self, password: str = PASSWORD) -> dict[str, object]:
        """The same as keys of a file of ours, but for ``zkEnableSecurity``."""
        jaas = self.directory / f"client-{password}.conf"
        jaas.write_text(f'Client {{ {_LOGIN} username="{USER}" password="{password}"; }};\n')
        return {
            JAAS_FILE: jaas,
            "zookeeper.client.secure": "true",
            "zookeeper.clientCnxnSocket": "org.apache.zookeeper.ClientCnxnSocketNetty",
            "zookeeper.ssl.trustStore.location": self.authority.path,
            "zookeeper.ssl.trustStore.type": "PEM",
        }


@frozen
class SecuredCluster(Cluster):
    """A cluster in it, as seen by a user whom the access lists let in."""

    secured: SecuredZooKeeper = field(kw_only=True)

    @property
    def uri(self) -> str:
        return self.secured.uri(self.root)

    def writable_ids(self) -> list[str]:
        return sorted(set(self._children("available")) - {"readonly"})

    def read_only_ids(self) -> list[str]:
        return self._children("available/readonly")

    def _children(self, name: str) -> list[str]:
        with self.secured.session() as client:
            return sorted(client.get_children(f"{self.root}/{name}"))


def in_one_file(identity: Identity) -> Path:
    """Return a file with key and certificate, which is what ZooKeeper calls a key store in PEM."""
    path = identity.key_path.with_suffix(".store.pem")
    path.write_bytes(identity.key_path.read_bytes() + identity.certificate_path.read_bytes())
    return path


@contextmanager
def secured_zookeeper(directory: Path) -> Iterator[SecuredZooKeeper]:
    """Start one, which takes clients with and without a certificate."""
    if find_spec("puresasl") is None:
        raise Unavailable("no passwords for ZooKeeper: pure-sasl is not installed: pip install '.[sasl]'")
    authority = Authority(directory)
    tls = {
        "ssl.keyStore.location": in_one_file(authority.issue("zookeeper", ("localhost",))),
        "ssl.keyStore.type": "PEM",
        "ssl.trustStore.location": authority.path,
        "ssl.trustStore.type": "PEM",
        "ssl.clientAuth": "want",
    }
    (directory / "server.conf").write_text(f'Server {{ {_LOGIN} user_{USER}="{PASSWORD}" user_other="other"; }};\n')
    server = ZooKeeper(
        directory / "zookeeper",
        tls=tls,
        settings={"authProvider.1": "org.apache.zookeeper.server.auth.SASLAuthenticationProvider"},
        properties={JAAS_FILE: directory / "server.conf"},
    )
    with server:
        yield SecuredZooKeeper(server, directory, authority)
