-- Take an answer that is queued, or whose owner is dead, or that is ours already (protocol 2).
-- %(pk)s, %(owner)s, %(lease_s)s. One row, or none when it is not to be had.
UPDATE chat_generation AS g
SET attempt = g.attempt + 1, owner = %(owner)s, state = 'running', claimed_at = coalesce(g.claimed_at, now())
FROM chat_generation AS mine LEFT JOIN chat_message AS m ON m.id = mine.message_id
WHERE g.id = %(pk)s AND mine.id = g.id
  AND (g.state = 'queued' OR (g.state = 'running' AND (g.owner = %(owner)s OR NOT EXISTS (
    SELECT 1 FROM chat_dispatcher AS d
    WHERE d.id = g.owner AND d.heartbeat_at > now() - make_interval(secs => %(lease_s)s)))))
  AND (g.waits_for_id IS NULL OR EXISTS (
    SELECT 1 FROM chat_generation AS w
    WHERE w.id = g.waits_for_id AND w.state NOT IN ('queued', 'running')))
RETURNING g.attempt, g.model, g.model_version, g.message_id, g.failures, g.stop_requested_at IS NOT NULL,
  extract(epoch FROM g.deadline_at - now())::float8, g.policy_version, g.request, coalesce(m.parts, '[]'), g.user_id, g.client_id
