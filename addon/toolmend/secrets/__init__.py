"""What a credential is, and the masks that keep it out of recordings, logs and streams."""
