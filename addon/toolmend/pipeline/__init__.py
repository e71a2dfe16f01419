"""Bytes of one response in, bytes for the client out."""
