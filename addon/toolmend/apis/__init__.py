"""The wire APIs: one decoder and one encoder each, from and to the neutral events."""
