"""The plot scripts, and the pictures that they drew."""
