"""The frameworks' own tests, run with obstat in the place of their permission systems."""
