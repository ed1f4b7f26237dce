"""The version: `make sdk` writes the binary's."""

__version__ = "0.0.0.dev0"
