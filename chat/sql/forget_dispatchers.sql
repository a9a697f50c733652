-- Rows of dispatchers that died long ago say nothing any more.
DELETE FROM chat_dispatcher WHERE heartbeat_at < now() - interval '1 hour'
