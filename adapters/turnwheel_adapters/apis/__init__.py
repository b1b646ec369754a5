"""What is said to a provider's API and what it says: pure, no network."""
