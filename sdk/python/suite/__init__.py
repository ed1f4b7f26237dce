"""The adversarial suite: a scripted model, real frameworks, and people who lie.

`python -m suite NAME` runs all cases around one framework, with obstat's adapter and with the
framework's own approval, in the environment that has it.
"""
