-- Confirmation mails: a limit for each project and day, and an account that asks an address again waits longer each
-- time (docs/adr/0080).

-- The confirmation mails that a project caused on a day, in UTC. Locked by the row of the account in mail_day.
create table confirmation_day (
  account_id uuid not null,
  project_id uuid not null,
  day date not null,
  mails integer not null,
  constraint confirmation_day_key primary key (account_id, project_id, day),
  constraint confirmation_day_of_project foreign key (account_id, project_id) references project on delete cascade
);

-- How many confirmation mails the recipient got.
alter table mail_recipient add column asks integer not null default 0;
update mail_recipient set asks = 1 where asked_at is not null;
