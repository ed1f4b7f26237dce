"""obstat around the tools of agents' frameworks, one module each."""
