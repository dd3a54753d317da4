"""Our speed beside our peers', measured in one run; see README.md."""
