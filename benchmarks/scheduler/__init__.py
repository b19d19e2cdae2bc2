"""Is the scheduler worth its decisions? Environments, arms, metrics, targets: `python -m benchmarks.scheduler`."""
