"""What the shipped loop makes of models: answers, cost and honesty, on recorded replies and on the simulated model.

`recorded` reads the sets, `replay` drives the loop over them, `arms` are the ways of asking, `rivals` what they are held
against, `measured` holds both, `bars`, `tables` and `figures` show it; `simulated` asks the simulated model. `run` and `quick` are the two commands.
"""
