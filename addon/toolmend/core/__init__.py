"""What every other package builds on: SSE, events, the scanner, JSON text. No I/O, no clock, no log."""
