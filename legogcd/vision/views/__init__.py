"""Views of images: drawn, encoded, kept on disk, read back."""
