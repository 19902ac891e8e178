-- The server that has the task reads it again: without `news` it could give the task back without a look at it.
create or replace function end_ai_task_without_environment() returns trigger
language plpgsql as $$
begin
  if new.status in ('RUNNING', 'STOPPING') then
    new.news := old.news + 1;
    update server_work set due_at = 'epoch' where account_id = new.account_id and work_id = new.task_id;
  end if;
  return new;
end $$;

create or replace trigger ai_task_environment_deleted before update of environment_name on ai_task
for each row when (old.environment_name is not null and new.environment_name is null)
execute function end_ai_task_without_environment();
