-- Work that servers hold: one table for all kinds, in the place of a lease in the table of each (docs/adr/0087).
--
-- Terminology
--   subject  the row that the work is about: a mail, a delivery rule. Its id is that of the work
--   lease    the server that holds the work; the epoch changes with each lease, and results of an older one are refused

create table server_work (
  account_id uuid not null,
  work_id uuid not null,
  kind text not null,
  -- When a server takes it. Null: nothing is to be done, or a server has taken it and nothing has come since.
  due_at timestamptz,
  lease_until timestamptz,
  epoch bigint not null default 0,
  -- Claims since the last success.
  attempts integer not null default 0,
  -- How often in a row a server that held it lost it: it died or was blocked for longer than the lease.
  interruptions integer not null default 0,
  -- When a server claimed it, extended its lease or gave it back: a time in the future shows that the clock was moved back.
  touched_at timestamptz,
  claimable_at timestamptz generated always as (coalesce(lease_until, due_at)) stored,
  constraint server_work_key primary key (account_id, work_id),
  constraint server_work_of_account foreign key (account_id) references account on delete cascade
) with (fillfactor = 50);

-- Serves: what is due, in turns by account.
create index server_work_due on server_work (kind, account_id, claimable_at) where claimable_at is not null;
-- Serves: whether work that was interrupted is held now.
create index server_work_interrupted on server_work (kind, lease_until) where interruptions > 0;
-- Serves: what a server touched before its clock was moved back. Not partial: looks for due work shall not take it.
create index server_work_touched on server_work (touched_at);

-- A server of the release before finds no columns of leases, and writes that into its log until it is replaced.
insert into server_work (account_id, work_id, kind, due_at, lease_until, epoch, attempts)
select account_id, mail_id, 'alert-mail', next_attempt_at, lease_until, epoch, attempts from alert_mail where state = 'pending';
alter table alert_mail drop column due_at;
alter table alert_mail drop column next_attempt_at, drop column lease_until, drop column epoch, drop column attempts;
-- A mail that is deleted needs no work (migrations/functions/server-work.sql).

alter table git_review add column work_id uuid not null default gen_random_uuid(),
  add constraint git_review_work unique (account_id, work_id);
insert into server_work (account_id, work_id, kind, due_at, lease_until, epoch, attempts, interruptions, touched_at)
select account_id, work_id, 'git-review', due_at, lease_until, epoch, attempts, interruptions, looked_at from git_review;
alter table git_review drop column due_at, drop column lease_until, drop column epoch, drop column attempts,
  drop column interruptions, drop column looked_at;

alter table delivery_rule add column work_id uuid not null default gen_random_uuid(),
  add constraint delivery_rule_work unique (account_id, work_id);
insert into server_work (account_id, work_id, kind, due_at, lease_until, epoch, interruptions, touched_at)
select account_id, work_id, 'git-delivery', case when due_at < '9999-01-01' then due_at end, lease_until, epoch, interruptions,
  looked_at
from delivery_rule;
alter table delivery_rule drop column due_at, drop column lease_until, drop column epoch, drop column interruptions,
  drop column looked_at;
