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
