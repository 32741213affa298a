"""Java's client, in a container, on a bookie of ours; test_java_client_in_every_run.py has the batches."""

import pytest

from tests.integration.java.test_java_client_on_ours import java as java
from tests.integration.java.test_java_client_on_ours import our_site as our_site
from tests.integration.java.test_java_client_on_ours import site as site
from tests.integration.java.test_java_client_on_ours import test_writes_reads_and_fences as test_writes_reads_and_fences

pytestmark = [pytest.mark.java, pytest.mark.docker, pytest.mark.full]
