"""Tables of the decision rules: what the shipped functions reach on recorded answers, beside baselines and targets."""
