-- How often in a row a server that held the row lost it: it died or was blocked for longer than the lease. A row that
-- is given back or ends has 0.
alter table ai_task add column interruptions integer not null default 0;
alter table delivery_rule add column interruptions integer not null default 0;
alter table git_review add column interruptions integer not null default 0;

-- For claims: those whose lease has passed, and whether one that was interrupted is held now.
create index ai_task_leased on ai_task (due_at) where lease_until is not null;
create index ai_task_interrupted on ai_task (lease_until) where interruptions > 0;
