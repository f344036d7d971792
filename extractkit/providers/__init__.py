"""Providers: each translates a ModelRequest into one way of asking a model, and back."""
