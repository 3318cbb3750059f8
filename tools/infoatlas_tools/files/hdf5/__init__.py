"""HDF5 files of demonstrations."""
