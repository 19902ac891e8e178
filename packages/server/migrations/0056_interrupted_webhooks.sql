-- How often in a row a server that sent for the webhook died before it wrote a result.
alter table webhook add column interruptions integer not null default 0;
