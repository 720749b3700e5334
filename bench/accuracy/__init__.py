"""What choices do to the scores on real images, paired by seed."""
