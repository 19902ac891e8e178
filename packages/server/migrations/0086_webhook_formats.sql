-- The format of the bodies: the event as JSON, or a message for Slack or Microsoft Teams.
alter table webhook add column format text not null default 'json'
  constraint webhook_format check (format in ('json', 'slack', 'teams'));
