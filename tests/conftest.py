"""Settings for all tests: what hypothesis draws is the same in each run, so a run that fails tells of a change.

`HYPOTHESIS_PROFILE=explore make test` draws anew; what it finds becomes an example of its test.
"""

import os

from hypothesis import settings

settings.register_profile("steady", derandomize=True, database=None)
settings.register_profile("explore")
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))
