"""Attackers who have read our code, and what the default gate is said to make of each of them."""
