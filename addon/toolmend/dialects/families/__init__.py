"""The dialects, one file each: a sample of the wire, its source, and the tags as data."""
