"""Generated data from ten demonstrations, and policies from it, with several ways of cutting."""
