-- What the queue must know of rows that wait: for whom, since when, how long still. %(pks)s.
-- A person shares with their organisation, the first that they joined. An answer that was handed back goes before new
-- ones, but for batch, which nobody reads.
SELECT g.model, g.id,
  CASE WHEN g.attempt > 0 AND g.priority <> 'batch' THEN 'begun' ELSE g.priority END,
  coalesce(home.id, g.user_id)::text, g.user_id::text, coalesce(home.weight, 1),
  (extract(epoch FROM g.created_at) * 1000)::bigint,
  (extract(epoch FROM (CASE WHEN g.attempt > 0 THEN g.deadline_at ELSE g.start_by END) - now()) * 1000)::bigint,
  coalesce(m.conversation_id::text, '')
FROM chat_generation AS g
LEFT JOIN chat_message AS m ON m.id = g.message_id
LEFT JOIN LATERAL (
  SELECT o.id, o.weight FROM accounts_membership AS mine JOIN accounts_organisation AS o ON o.id = mine.organisation_id
  WHERE mine.user_id = g.user_id ORDER BY mine.created_at, mine.id LIMIT 1
) AS home ON true
WHERE g.id = ANY(%(pks)s)
