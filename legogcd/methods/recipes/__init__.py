"""What is said of each method: its name, its recipe, and where its class is. Nothing here needs torch."""
