-- The one way to a terminal state: row, message and ledger together (protocol 2). Returns the pk, or nothing: not ours.
-- %(pk)s, %(attempt)s, %(owner)s (null for a queued row that nobody claimed), %(state)s, %(parts)s (null: as they stand),
-- %(finish_reason)s, %(error_code)s, %(usage)s.
WITH ended AS (
  UPDATE chat_generation AS g
  SET state = %(state)s, finish_reason = %(finish_reason)s, error_code = %(error_code)s, usage = %(usage)s,
      request = NULL, finished_at = now()
  WHERE g.id = %(pk)s AND g.attempt = %(attempt)s AND g.owner IS NOT DISTINCT FROM %(owner)s
    AND g.state = CASE WHEN %(owner)s::uuid IS NULL THEN 'queued' ELSE 'running' END
  RETURNING g.id, g.message_id, g.user_id, g.model
), message AS (
  UPDATE chat_message AS m
  SET parts = coalesce(%(parts)s, m.parts), tokens = NULL, tokens_model = ''
  FROM ended WHERE m.id = ended.message_id
  RETURNING m.conversation_id
), conversation AS (
  UPDATE chat_conversation AS c SET updated_at = now() FROM message WHERE c.id = message.conversation_id
), ledger AS (
  INSERT INTO accounts_usageentry (id, generation_id, user_id, model, prompt_tokens, completion_tokens)
  SELECT uuidv7(), ended.id, ended.user_id, ended.model,
    coalesce((%(usage)s::jsonb ->> 'prompt_tokens')::int, 0), coalesce((%(usage)s::jsonb ->> 'completion_tokens')::int, 0)
  FROM ended
  ON CONFLICT (generation_id) DO NOTHING
), chunks AS (
  DELETE FROM chat_generationchunk AS c USING ended WHERE c.generation_id = ended.id
)
SELECT id FROM ended
