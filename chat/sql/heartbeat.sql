-- Renew the lease, and hear which of our answers were asked to stop. %(owner)s.
WITH beat AS (
  INSERT INTO chat_dispatcher (id, started_at, heartbeat_at) VALUES (%(owner)s, now(), now())
  ON CONFLICT (id) DO UPDATE SET heartbeat_at = now()
)
SELECT id FROM chat_generation
WHERE owner = %(owner)s AND state = 'running' AND closed_at IS NULL AND stop_requested_at IS NOT NULL
