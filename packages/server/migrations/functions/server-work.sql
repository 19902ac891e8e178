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
