"""What a test of a controller stands on: a real control plane on loopback, and pytest fixtures for it.

Tools of tests only: nothing that runs in production may import from here. Importing this package costs nothing; take
what is needed from its modules (`trimtab.testing.control_plane.ControlPlane`), or the fixtures from the pytest plugin.
"""
