"""What is said of each brick that a method's name may add. Nothing here needs torch."""
