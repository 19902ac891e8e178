-- Repository migrations are work that servers hold, like that of 0091.
insert into server_work (account_id, work_id, kind, due_at, lease_until, epoch, attempts)
select account_id, migration_id, 'repository-migration', created_at, lease_until, epoch, attempts
from repository_migration where status = 'IN_PROGRESS';
alter table repository_migration drop column lease_until, drop column epoch, drop column attempts;
