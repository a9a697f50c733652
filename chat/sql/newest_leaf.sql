-- Of all below a message, itself included, the newest that has nothing below it.
-- %(top)s the message.
WITH RECURSIVE below (id, created_at) AS (
    SELECT id, created_at FROM chat_message WHERE id = %(top)s
    UNION ALL
    SELECT child.id, child.created_at FROM below JOIN chat_message child ON child.parent_id = below.id
)
SELECT id FROM below
WHERE NOT EXISTS (SELECT FROM chat_message child WHERE child.parent_id = below.id)
ORDER BY created_at DESC, id DESC LIMIT 1
