"""The network: from a prepared sample to a critic and its estimate.

Shipped files depend on names in this package. Checkpoints name weights by the attributes of
modules, and exported graphs name nodes by files and functions (infoatlas_export/scopes.py).
"""
