"""What the bricks share."""
