"""Training: the only training loop there is, and what it needs."""
