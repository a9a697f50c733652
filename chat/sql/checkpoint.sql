-- Store what came since the last checkpoint, for all answers that are still this owner's.
-- %(owner)s, %(pieces)s: JSON list of {pk, attempt, n_from, n_to, body}. Returns the pks stored.
-- The lock settles who is first: an end or a claim that is under way is waited for, and then nothing is stored.
-- A statement whose connection broke may arrive after its successor: it replaces nothing that reaches further.
WITH mine AS (
  SELECT piece.*, g.first_token_at IS NULL AS is_first
  FROM jsonb_to_recordset(%(pieces)s::jsonb) AS piece(pk uuid, attempt int, n_from bigint, n_to bigint, body jsonb)
  JOIN chat_generation AS g
    ON g.id = piece.pk AND g.attempt = piece.attempt AND g.owner = %(owner)s AND g.state = 'running'
  FOR NO KEY UPDATE OF g
), begun AS (
  UPDATE chat_generation AS g SET first_token_at = now() FROM mine WHERE g.id = mine.pk AND mine.is_first
), stored AS (
  INSERT INTO chat_generationchunk AS chunk (generation_id, attempt, n_from, n_to, body)
  SELECT pk, attempt, n_from, n_to, body FROM mine
  ON CONFLICT (generation_id, attempt, n_from) DO UPDATE SET n_to = excluded.n_to, body = excluded.body
    WHERE chunk.n_to <= excluded.n_to
)
SELECT pk FROM mine
