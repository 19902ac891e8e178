-- AI tasks are work that servers hold, like that of 0091.
insert into server_work (account_id, work_id, kind, due_at, lease_until, epoch, attempts, interruptions)
select account_id, task_id, 'ai-task', due_at, lease_until, epoch, failures, interruptions from ai_task;
alter table ai_task drop column due_at, drop column lease_until, drop column epoch, drop column failures, drop column interruptions;

-- Serves: the limit of tasks of an account.
create index ai_task_running on ai_task (account_id) where status in ('RUNNING', 'STOPPING');
