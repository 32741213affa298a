"""The metadata store of a cluster: ledgers, bookies, cookies, in SQLite, ZooKeeper or etcd."""
