"""Logs at hand. Read `workbench` first (a fresh log, a broker's directory, the three witnesses), then `producers` and
`readers`, then what goes wrong: `damage`, `killed_broker`, `planted_bugs`. `background` is work done while one reads.
"""
