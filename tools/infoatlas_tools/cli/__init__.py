"""Commands of `infoatlas-rt` that work on recordings; they join by entry points."""
