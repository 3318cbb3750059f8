"""Curves of I(s_t; s_<t-Δt) over recorded trajectories."""
