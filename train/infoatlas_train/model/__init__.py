"""The network, which writes a critic for a prepared sample and computes its estimate.

Shipped files depend on names in this package: checkpoints name weights by the attributes of
modules, and exported graphs name nodes by files and functions (infoatlas_export/scopes.py).
"""
