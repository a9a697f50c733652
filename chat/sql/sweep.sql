-- Everything that nobody looks after (protocol 4, sweep). %(lease_s)s. Kinds: requeue, unclosed, overdue, expired.
SELECT
  CASE
    WHEN g.state NOT IN ('queued', 'running') THEN 'unclosed'
    WHEN g.state = 'queued' AND g.attempt = 0 AND g.start_by < now() THEN 'expired'
    WHEN g.attempt > 0 AND (g.deadline_at < now() OR (g.state = 'queued' AND (g.stop_requested_at IS NOT NULL
      OR (g.start_by < now() AND g.first_token_at IS NULL)))) THEN 'overdue'
    ELSE 'requeue'
  END AS kind,
  g.id, g.model, g.attempt, g.owner, g.state,
  g.finish_reason, g.error_code, g.usage, m.parts
FROM chat_generation AS g LEFT JOIN chat_message AS m ON m.id = g.message_id
WHERE g.closed_at IS NULL AND (
  (g.state NOT IN ('queued', 'running') AND g.finished_at < now() - interval '5 s')
  OR (g.state = 'queued' AND g.created_at < now() - interval '2 s' AND (g.waits_for_id IS NULL OR EXISTS (
    SELECT 1 FROM chat_generation AS w WHERE w.id = g.waits_for_id AND w.state NOT IN ('queued', 'running'))))
  OR (g.state = 'running' AND NOT EXISTS (
    SELECT 1 FROM chat_dispatcher AS d
    WHERE d.id = g.owner AND d.heartbeat_at > now() - make_interval(secs => %(lease_s)s))))
ORDER BY g.created_at
LIMIT 1000
