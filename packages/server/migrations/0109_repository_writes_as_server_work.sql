-- To end a write to Git whose server died is work that servers hold, like that of 0091 (docs/adr/0100).
insert into server_work (account_id, work_id, kind, due_at)
select account_id, write_id, 'repository-write', lease_until from repository_write;
drop index repository_write_due;
-- Only servers of the release before write and read it. The next release drops it, and the trigger repository_write_of_release_before.
alter table repository_write alter column lease_until drop not null;
