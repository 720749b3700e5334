"""The review page in a real browser: what a piece of work takes by hand, and how it fares with 100,000 images."""
