-- Servers of the release before 0094 have written these without work (migrations/functions/server-work.sql).
insert into server_work (account_id, work_id, kind, due_at)
select account_id, webhook_id, 'webhook', case when state = 'active' then least(retry_at, redelivery_at) end from webhook
on conflict do nothing;
insert into server_work (account_id, work_id, kind, due_at)
select account_id, migration_id, 'repository-migration', created_at from repository_migration where status = 'IN_PROGRESS'
on conflict do nothing;
