-- The bytes that a component read from an API.
alter table execution_step add column byte_count bigint;
