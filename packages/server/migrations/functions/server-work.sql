-- Work goes with its subject. The argument is the column with its id.
create or replace function delete_server_work() returns trigger language plpgsql as $$
begin
  execute format('delete from server_work w using gone where w.account_id = gone.account_id and w.work_id = gone.%I', tg_argv[0]);
  return null;
end $$;

create or replace trigger alert_mail_work after delete on alert_mail
  referencing old table as gone for each statement execute function delete_server_work('mail_id');

create or replace trigger git_review_work after delete on git_review
  referencing old table as gone for each statement execute function delete_server_work('work_id');

create or replace trigger delivery_rule_work after delete on delivery_rule
  referencing old table as gone for each statement execute function delete_server_work('work_id');

create or replace trigger repository_migration_work after delete on repository_migration
  referencing old table as gone for each statement execute function delete_server_work('migration_id');

create or replace trigger repository_write_work after delete on repository_write
  referencing old table as gone for each statement execute function delete_server_work('write_id');

-- Servers of the release before 0109 set `lease_until`, and write no work. It is work when they have not ended the
-- write by then.
create or replace function schedule_repository_write() returns trigger language plpgsql as $$
begin
  insert into server_work (account_id, work_id, kind, due_at)
  values (new.account_id, new.write_id, 'repository-write', new.lease_until)
  on conflict on constraint server_work_key do update set due_at = excluded.due_at where server_work.lease_until is null;
  return null;
end $$;

create or replace trigger repository_write_of_release_before after insert or update on repository_write
  for each row when (new.lease_until is not null) execute function schedule_repository_write();

create or replace trigger ai_changes_work after delete on ai_working_copy
  referencing old table as gone for each statement execute function delete_server_work('mark_key');

-- Servers of the release before 0109 look at `claimed_until` only. A claim locks the copy before the work; so does its
-- end.
create or replace function show_claim_of_changes() returns trigger language plpgsql as $$
begin
  update ai_working_copy set claimed_until = case when tg_op <> 'DELETE' then new.touched_at + interval '5 minutes' end
  where account_id = coalesce(new.account_id, old.account_id) and mark_key = coalesce(new.work_id, old.work_id) and claimed_by is null;
  return null;
end $$;

create or replace trigger claim_of_changes_begins after insert or update of epoch on server_work
  for each row when (new.kind = 'ai-changes') execute function show_claim_of_changes();
create or replace trigger claim_of_changes_ends after delete on server_work
  for each row when (old.kind = 'ai-changes') execute function show_claim_of_changes();

create or replace trigger ai_task_work after delete on ai_task
  referencing old table as gone for each statement execute function delete_server_work('task_id');

create or replace trigger webhook_work after delete on webhook
  referencing old table as gone for each statement execute function delete_server_work('webhook_id');

-- A server of the release before, which knows no server_work, may still write these subjects. For one release, they get
-- their work at the commit, unless the transaction has written it.
create or replace function add_missing_server_work() returns trigger language plpgsql as $$
begin
  if tg_table_name = 'webhook' then
    insert into server_work (account_id, work_id, kind, due_at)
    select w.account_id, w.webhook_id, 'webhook', case when w.state = 'active' then least(w.retry_at, w.redelivery_at) end
    from webhook w where w.account_id = new.account_id and w.webhook_id = new.webhook_id
    on conflict do nothing;
  else
    insert into server_work (account_id, work_id, kind, due_at)
    select m.account_id, m.migration_id, 'repository-migration', m.created_at
    from repository_migration m
    where m.account_id = new.account_id and m.project_id = new.project_id and m.migration_id = new.migration_id
      and m.status = 'IN_PROGRESS'
    on conflict do nothing;
  end if;
  return null;
end $$;

drop trigger if exists webhook_without_work on webhook;
create constraint trigger webhook_without_work after insert on webhook
  deferrable initially deferred for each row execute function add_missing_server_work();

drop trigger if exists repository_migration_without_work on repository_migration;
create constraint trigger repository_migration_without_work after insert on repository_migration
  deferrable initially deferred for each row execute function add_missing_server_work();
