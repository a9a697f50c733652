-- Mark an ended answer closed; whose it is, and the answers that waited for it. %(pk)s. May run twice.
-- A checkpoint that was under way when the answer ended was not seen by finish.sql: its chunks go here.
WITH closed AS (
  UPDATE chat_generation SET closed_at = coalesce(closed_at, now())
  WHERE id = %(pk)s AND state NOT IN ('queued', 'running')
  RETURNING id, user_id, client_id, message_id
), chunks AS (
  DELETE FROM chat_generationchunk AS chunk USING closed WHERE chunk.generation_id = closed.id
)
SELECT c.user_id, c.client_id, m.conversation_id, w.id
FROM closed AS c
LEFT JOIN chat_message AS m ON m.id = c.message_id
LEFT JOIN chat_generation AS w ON w.waits_for_id = c.id AND w.state = 'queued'
