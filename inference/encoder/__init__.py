"""The encoder: one process that turns texts into vectors, and the client that asks it.

Only `minilm` imports torch, and only when it loads; everything else here is light enough for any process.
"""
