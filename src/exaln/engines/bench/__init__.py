"""How fast the engines are here, compared with the bound of the machine: what `exaln bench` measures.

cpu: a few query lengths against as many synthetic proteins as the time allows.
cuda: the standard queries against a database like Swiss-Prot, one by one and together, with every score checked.
"""
