"""Measurements of `exaln bench`: the speed of an engine on this machine, compared with the machine's bound.

cpu: a few query lengths against as many synthetic proteins as the time allows.
cuda: the standard queries against a synthetic Swiss-Prot, one by one and as a batch, with every score checked.
"""
