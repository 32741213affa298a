"""The metadata store in ZooKeeper, with the nodes of Java (docs/formats/metadata-layout.md)."""
