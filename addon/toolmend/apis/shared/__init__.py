"""What the codecs of several APIs need."""
