-- E-mail of alerts goes to addresses whose owner agreed, within a limit for each account and day (docs/adr/0080).
--
-- Terminology
--   recipient  an address in an account. Its owner confirms or refuses the mails of this account by a link
--   part       an alert and a recipient of its rule: the mail that tells of it, or why there is none

create table mail_recipient (
  account_id uuid not null,
  -- In lower case.
  address text not null,
  recipient_id uuid not null,
  -- Of the link in the latest confirmation mail.
  token_digest bytea,
  token_expires_at timestamptz,
  asked_at timestamptz,
  confirmed_at timestamptz,
  refused_at timestamptz,
  created_at timestamptz not null,
  constraint mail_recipient_key primary key (account_id, address),
  constraint mail_recipient_id_taken unique (recipient_id),
  constraint mail_recipient_of_account foreign key (account_id) references account on delete cascade
);

-- Serves: the links of confirmation mails.
create unique index mail_recipient_by_token on mail_recipient (token_digest) where token_digest is not null;
-- Serves: the removal of recipients that never answered.
create index mail_recipient_unanswered on mail_recipient (asked_at) where confirmed_at is null and refused_at is null;

-- An address in all accounts together: how often it was asked, and whether its owner refuses every mail.
create table mail_address (
  address text not null,
  refused_at timestamptz,
  asked_on date not null,
  asked integer not null,
  constraint mail_address_key primary key (address)
);

-- Serves: the removal of addresses that nobody names any more.
create index mail_address_old on mail_address (asked_on) where refused_at is null;

-- The mails of an account on a day, in UTC.
create table mail_day (
  account_id uuid not null,
  day date not null,
  mails integer not null,
  withheld integer not null,
  constraint mail_day_key primary key (account_id, day),
  constraint mail_day_of_account foreign key (account_id) references account on delete cascade
);

create table alert_mail_part (
  account_id uuid not null,
  alert_id uuid not null,
  recipient text not null,
  mail_id uuid,
  -- Why there is no mail.
  reason text,
  constraint alert_mail_part_key primary key (account_id, alert_id, recipient),
  constraint alert_mail_part_of_alert foreign key (account_id, alert_id) references alert on delete cascade,
  constraint alert_mail_part_of_mail foreign key (account_id, mail_id) references alert_mail on delete cascade,
  constraint alert_mail_part_either check ((mail_id is null) = (reason is not null))
);

-- Serves: the alerts of a mail.
create index alert_mail_part_by_mail on alert_mail_part (account_id, mail_id) where mail_id is not null;

insert into alert_mail_part (account_id, alert_id, recipient, mail_id)
select distinct on (account_id, alert_id, recipient) account_id, alert_id, recipient, mail_id from alert_mail;

-- A mail now tells of several alerts. Null for a confirmation mail, which is of no project.
alter table alert_mail add column project_id uuid;
alter table alert_mail add column is_confirmation boolean not null default false;
update alert_mail m set project_id = r.project_id
from alert a join alert_rule r on r.account_id = a.account_id and r.alert_rule_id = a.alert_rule_id
where a.account_id = m.account_id and a.alert_id = m.alert_id;
update alert_mail set state = 'dead', lease_until = null, next_attempt_at = null, ended_at = now(),
  last_error = 'The owner of the address has not confirmed it.'
where state = 'pending';
drop index alert_mail_by_alert;
alter table alert_mail drop constraint alert_mail_of_alert, drop column alert_id;
alter table alert_mail
  add constraint alert_mail_of_account foreign key (account_id) references account on delete cascade,
  add constraint alert_mail_of_project foreign key (account_id, project_id) references project on delete cascade,
  add constraint alert_mail_kind check (is_confirmation = (project_id is null));

-- Serves: the deletion of a project.
create index alert_mail_by_project on alert_mail (account_id, project_id) where project_id is not null;

-- Serves: what is sent next, in turns by account.
drop index alert_mail_due;
create index alert_mail_due on alert_mail (account_id, due_at) where due_at is not null;
