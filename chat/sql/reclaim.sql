-- A new attempt of what is still ours, above one seen in the log. %(pk)s, %(attempt)s, %(owner)s, %(above)s.
-- Not `=`: the reply to an earlier try may have been lost. An owner is new at each start, so owner says whose it is.
UPDATE chat_generation SET attempt = greatest(attempt, %(above)s) + 1
WHERE id = %(pk)s AND attempt >= %(attempt)s AND owner = %(owner)s AND state = 'running'
RETURNING attempt
