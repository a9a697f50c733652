-- Keep the exact request for every later attempt, and the counts of messages.
-- %(pk)s, %(attempt)s, %(owner)s, %(request)s, %(counts)s: JSON object of message pk to tokens, %(model)s.
WITH counted AS (
  UPDATE chat_message AS m SET tokens = c.value::int, tokens_model = %(model)s
  FROM jsonb_each_text(%(counts)s::jsonb) AS c WHERE m.id = c.key::uuid
)
UPDATE chat_generation SET request = %(request)s
WHERE id = %(pk)s AND attempt >= %(attempt)s AND owner = %(owner)s AND state = 'running' AND request IS NULL
