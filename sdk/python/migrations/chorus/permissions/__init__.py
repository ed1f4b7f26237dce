"""The engine of Chorus, as its document describes it."""
