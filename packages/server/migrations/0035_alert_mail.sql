-- E-mail of alert rules (docs/adr/0061).
--
-- Terminology
--   lease  the server that sends the mail; the epoch changes with each lease, and results of an older one are refused

alter table alert_rule add column emails text[] not null default '{}';

-- A mail to one recipient, written with its alert.
create table alert_mail (
  account_id uuid not null,
  mail_id uuid not null,
  alert_id uuid not null,
  recipient text not null,
  subject text not null,
  body text not null,
  state text not null,
  -- Counted when they begin.
  attempts integer not null,
  next_attempt_at timestamptz,
  epoch bigint not null default 0,
  lease_until timestamptz,
  last_error text,
  created_at timestamptz not null,
  -- When it was sent, or given up.
  ended_at timestamptz,
  due_at timestamptz generated always as (
    case when state = 'pending' then coalesce(lease_until, next_attempt_at) end) stored,
  constraint alert_mail_key primary key (account_id, mail_id),
  constraint alert_mail_state check (state in ('pending', 'sent', 'dead')),
  -- Retention of alerts deletes their mails too, and so does the deletion of a rule.
  constraint alert_mail_of_alert foreign key (account_id, alert_id) references alert on delete cascade
);

-- Serves: what is sent next, and what a dead server held.
create index alert_mail_due on alert_mail (due_at) where due_at is not null;

-- Serves: the mails of an alert.
create index alert_mail_by_alert on alert_mail (account_id, alert_id, mail_id);
