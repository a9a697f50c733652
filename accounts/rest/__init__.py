"""What a person sees of their account under /api/v1/. No rule and no query in here."""
