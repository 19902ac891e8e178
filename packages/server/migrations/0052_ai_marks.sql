-- What makes the calls of an AI task that write files safe to repeat, and the marks of secrets safe to write back.

-- The key of the marks that stand for the secrets of a file: without it a mark would let a reader guess the secret.
alter table ai_working_copy add column mark_key uuid not null default gen_random_uuid();

-- The call that wrote the edit: it is done if it is made again. Null for an earlier edit.
alter table ai_edit add column call_id uuid;
