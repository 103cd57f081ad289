"""Settings for all tests."""

from hypothesis import settings

# No time limit per example: a busy machine is no failure. The blob lets anyone repeat a failure seen elsewhere.
settings.register_profile("exaln", deadline=None, print_blob=True)
settings.load_profile("exaln")
