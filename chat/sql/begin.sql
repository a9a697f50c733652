-- Write a turn: conversation (new or touched), user message, assistant message and generation, all or nothing.
-- Nothing is written when this client id was used before (0 rows): the caller then reads the first.
-- Foreign keys are deferred, so that the generation can come first and decide.
WITH generation AS (
  INSERT INTO chat_generation (
    id, message_id, user_id, client_id, body_hash, state, priority, model, model_version, attempt, failures, waits_for_id,
    policy_version, created_at, start_by, deadline_at)
  VALUES (
    %(generation)s, %(answer)s, %(user)s, %(client_id)s, %(body_hash)s, 'queued', %(priority)s, %(model)s,
    %(model_version)s, 0, 0, %(waits_for)s, '', now(), now() + make_interval(secs => %(start_by_s)s),
    now() + make_interval(secs => %(deadline_s)s))
  ON CONFLICT (user_id, client_id) DO NOTHING
  RETURNING id, created_at
), started AS (
  INSERT INTO chat_conversation (id, user_id, title, model, leaf_id, created_at, updated_at)
  SELECT %(conversation)s, %(user)s, %(title)s, %(conversation_model)s, %(answer)s, now(), now()
  FROM generation WHERE %(starts)s
), touched AS (
  UPDATE chat_conversation AS c
  SET leaf_id = %(answer)s, updated_at = now(), title = CASE WHEN c.title = '' THEN %(title)s ELSE c.title END
  FROM generation WHERE c.id = %(conversation)s AND NOT %(starts)s
), asked AS (
  INSERT INTO chat_message (id, conversation_id, parent_id, role, parts, tokens_model, created_at)
  SELECT %(message)s, %(conversation)s, %(parent)s, 'user', %(parts)s, '', now()
  FROM generation WHERE %(message)s::uuid IS NOT NULL
), answered AS (
  INSERT INTO chat_message (id, conversation_id, parent_id, role, parts, tokens_model, created_at)
  SELECT %(answer)s, %(conversation)s, coalesce(%(message)s, %(parent)s), 'assistant', '[]', '',
    now() + interval '1 microsecond'
  FROM generation WHERE %(writes_answer)s
)
SELECT (extract(epoch FROM generation.created_at) * 1000)::bigint, home.id, home.weight
FROM generation LEFT JOIN (
  SELECT o.id, o.weight FROM accounts_membership AS mine JOIN accounts_organisation AS o ON o.id = mine.organisation_id
  WHERE mine.user_id = %(user)s ORDER BY mine.created_at, mine.id LIMIT 1
) AS home ON true
