"""What codes a method makes: the contract of methods, the methods, their losses, models and training."""
