"""The metadata store in etcd, with the keys of Java's driver (docs/formats/metadata-etcd.md)."""
