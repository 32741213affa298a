"""Java's client, in a container, on a bookie of ours: every run has this, where a daemon can be had."""

import pytest

from tests.integration.java.test_java_client_on_ours import java as java
from tests.integration.java.test_java_client_on_ours import our_site as our_site
from tests.integration.java.test_java_client_on_ours import site as site
from tests.integration.java.test_java_client_on_ours import test_reads_in_batches as test_reads_in_batches

pytestmark = [pytest.mark.java, pytest.mark.docker]
