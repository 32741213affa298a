"""Commands on bookies: those of a cluster, and the files of one that does not run."""
