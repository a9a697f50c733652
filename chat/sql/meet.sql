-- What a send meets, in one round trip: the turn of its client id, its conversation, the message it follows, and that
-- message's open answer, which stays locked. %(user)s, %(client_id)s, %(conversation)s, %(parent)s. Always one row.
WITH followed AS (
  SELECT m.id, m.role FROM chat_message AS m JOIN chat_conversation AS c ON c.id = m.conversation_id
  WHERE m.id = %(parent)s AND c.id = %(conversation)s AND c.user_id = %(user)s
), running AS (
  SELECT g.id, g.stop_requested_at IS NOT NULL AS stopping FROM chat_generation AS g
  WHERE g.message_id = (SELECT id FROM followed) AND g.state IN ('queued', 'running')
  FOR UPDATE
)
SELECT EXISTS (SELECT 1 FROM chat_generation WHERE user_id = %(user)s AND client_id = %(client_id)s),
  c.id IS NOT NULL, c.leaf_id IS NOT NULL, followed.role, running.id, running.stopping
FROM (VALUES (1)) AS one
LEFT JOIN chat_conversation AS c ON c.id = %(conversation)s AND c.user_id = %(user)s
LEFT JOIN followed ON true
LEFT JOIN running ON true
