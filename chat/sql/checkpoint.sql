-- Store what came since the last checkpoint, for all answers that are still this owner's.
-- %(owner)s, %(pieces)s: JSON list of {pk, attempt, n_from, n_to, body}. Returns the pks stored.
WITH piece AS (
  SELECT * FROM jsonb_to_recordset(%(pieces)s::jsonb)
    AS p(pk uuid, attempt int, n_from bigint, n_to bigint, body jsonb)
), first AS (
  UPDATE chat_generation AS g SET first_token_at = now()
  FROM piece WHERE g.id = piece.pk AND g.attempt = piece.attempt AND g.owner = %(owner)s
    AND g.state = 'running' AND g.first_token_at IS NULL
)
INSERT INTO chat_generationchunk (generation_id, attempt, n_from, n_to, body)
SELECT piece.pk, piece.attempt, piece.n_from, piece.n_to, piece.body
FROM piece JOIN chat_generation AS g
  ON g.id = piece.pk AND g.attempt = piece.attempt AND g.owner = %(owner)s AND g.state = 'running'
FOR KEY SHARE OF g
ON CONFLICT (generation_id, attempt, n_from) DO UPDATE SET n_to = excluded.n_to, body = excluded.body
RETURNING generation_id
