"""How many classes there are, known and new."""
