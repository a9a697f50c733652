-- A dispatcher that handed everything over is gone. %(owner)s.
DELETE FROM chat_dispatcher WHERE id = %(owner)s
