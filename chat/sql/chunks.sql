-- The checkpoints of an answer, in order. %(pk)s.
SELECT attempt, n_to, body FROM chat_generationchunk WHERE generation_id = %(pk)s ORDER BY attempt, n_to, n_from
