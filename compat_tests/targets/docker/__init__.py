"""Java bookies in containers, by testcontainers: the official images where they can be had, else a tiny local one.

The containers share this machine's network and listen on 127.0.0.1 only; their directories are ours, mounted under the
same paths. So the daemon has to be on this machine.

What can be set, in the environment:

``DOCKER_HOST``           the daemon; else the one at ``/var/run/docker.sock``, or one of our own for this run
``BKTX_INSTALL_DOCKER``   ``1``: install Debian's docker.io if there is no dockerd (as ``CI=true`` does; needs root)
``BKTX_DOCKER_IMAGE``     the official image's name, ``apache/bookkeeper:{release}`` if not set
``BKTX_DOCKER_LOCAL``     ``1``: do not look for the official image
``BKTX_DOCKER_MOUNTS``    what a container sees of this machine beside its own files, read-only, ``/path:/path,…``
"""
