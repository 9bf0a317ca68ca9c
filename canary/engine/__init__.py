"""One run: requests out, observations in, verdicts and findings from the pure layers below."""
