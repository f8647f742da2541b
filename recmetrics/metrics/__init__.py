"""The metrics, by what they read. Each is declared once, beside its reference and its kernel."""
