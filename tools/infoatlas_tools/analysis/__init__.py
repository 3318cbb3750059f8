"""Tests of independence, conditional information, lags, and screening of many columns."""
