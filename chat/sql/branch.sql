-- The branch that ends in a message, newest first, at most %(limit)s. %(leaf)s.
WITH RECURSIVE branch AS (
  SELECT m.id, m.parent_id, 1 AS depth FROM chat_message AS m WHERE m.id = %(leaf)s
  UNION ALL
  SELECT m.id, m.parent_id, b.depth + 1 FROM branch AS b JOIN chat_message AS m ON m.id = b.parent_id
  WHERE b.depth < %(limit)s
)
SELECT m.id, m.role, m.parts, CASE WHEN m.tokens_model = %(model)s THEN m.tokens END
FROM branch AS b JOIN chat_message AS m ON m.id = b.id
ORDER BY b.depth
