"""REST under /api/v1/: parse, call one function of chat, render. No rule and no query in here."""
