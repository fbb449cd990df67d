"""A controller: an app's functions, and the loop that runs them."""
