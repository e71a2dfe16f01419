"""The foundation of every other package: SSE, events, the scanner, JSON text. No I/O, no clock, no log."""
