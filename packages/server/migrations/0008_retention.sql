-- Block ranges told where the expired records lie only until the space of removed ones is used again: then each removal read all of the table.
drop index idempotency_record_by_expiry;
-- Serves: the removal of expired records, oldest first.
create index idempotency_record_by_expiry on idempotency_record (expires_at);
