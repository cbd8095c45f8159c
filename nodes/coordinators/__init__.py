"""The coordinators: SQLite for one machine, etcd for many."""
