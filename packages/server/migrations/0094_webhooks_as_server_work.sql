-- Sending for a webhook is work that servers hold, like that of 0091.
insert into server_work (account_id, work_id, kind, due_at, lease_until, epoch, interruptions)
select account_id, webhook_id, 'webhook', case when state = 'active' then least(retry_at, redelivery_at) end, lease_until, epoch,
  interruptions
from webhook;
alter table webhook drop column due_at;
alter table webhook drop column lease_until, drop column epoch, drop column interruptions;

-- Serves: what a server worked on before its clock was moved back.
create index webhook_touched on webhook (touched_at) where retry_at is not null or redelivery_at is not null;
-- Serves: the accounts with events that no server was woken for.
create index webhook_waiting on webhook (account_id, position) where state = 'active' and retry_at is null;
