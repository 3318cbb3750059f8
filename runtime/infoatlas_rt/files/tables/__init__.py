"""Tables: text and .parquet."""
