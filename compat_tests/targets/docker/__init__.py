"""Java's bookies and clients, ZooKeeper and etcd in containers by testcontainers: official images, else tiny ones.

The containers share this machine's network and listen on 127.0.0.1 only; their directories are ours, mounted under the
same paths. So the daemon has to be on this machine.

What can be set, in the environment:

``DOCKER_HOST``                  the daemon; else the one at ``/var/run/docker.sock``, or one of our own for this run
``BKTX_INSTALL_DOCKER``          ``1``: as root, install Debian's docker.io if there is no dockerd (as ``CI=true`` does)
``BKTX_DOCKER_IMAGE``            the official image's name, ``apache/bookkeeper:{release}`` if not set
``BKTX_DOCKER_ZOOKEEPER_IMAGE``  that of ZooKeeper's, ``zookeeper:3.9`` if not set
``BKTX_DOCKER_LOCAL``            ``1``: do not look for the official images
``BKTX_DOCKER_MOUNTS``           what containers see beside their own files, read-only: ``/path:/path,…``
"""
