"""A process: start and stop order, leader election, health, metrics, signals."""
