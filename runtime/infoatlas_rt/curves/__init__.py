"""Curves I(s_t; s_<t-Δt) over recorded trajectories, and the extrema of curves and streams."""
