-- Give an answer of ours back to the queue; its text is kept. %(pk)s, %(attempt)s, %(owner)s, %(failures)s.
UPDATE chat_generation SET state = 'queued', owner = NULL, failures = %(failures)s
WHERE id = %(pk)s AND attempt = %(attempt)s AND owner = %(owner)s AND state = 'running'
RETURNING id
