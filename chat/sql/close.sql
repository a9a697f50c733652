-- Mark an ended answer closed, and name the answers that waited for it. %(pk)s. May run twice.
WITH closed AS (
  UPDATE chat_generation SET closed_at = coalesce(closed_at, now())
  WHERE id = %(pk)s AND state NOT IN ('queued', 'running')
)
SELECT id, model, (extract(epoch FROM created_at) * 1000)::bigint
FROM chat_generation WHERE waits_for_id = %(pk)s AND state = 'queued'
