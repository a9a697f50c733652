-- The branch that ends in a message, oldest first: from the leaf upwards, one look at the primary key a step.
-- %(leaf)s the last message, %(limit)s how many at most, nearest the leaf.
WITH RECURSIVE path (id, parent_id, depth) AS (
    SELECT id, parent_id, 1 FROM chat_message WHERE id = %(leaf)s
    UNION ALL
    SELECT above.id, above.parent_id, path.depth + 1
    FROM path JOIN chat_message above ON above.id = path.parent_id
    WHERE path.depth < %(limit)s
)
SELECT message.* FROM path JOIN chat_message message ON message.id = path.id ORDER BY path.depth DESC
