-- What a reader without a log needs: state and text. %(pk)s.
SELECT g.state, g.attempt, g.finish_reason, g.error_code, g.usage, coalesce(m.parts, '[]')
FROM chat_generation AS g LEFT JOIN chat_message AS m ON m.id = g.message_id
WHERE g.id = %(pk)s
