-- Webhooks: they send the events of an account to an address, in the order of the event log (docs/adr/0059).
--
-- Terminology
--   position    a webhook has dealt with all events of the log up to its position
--   head        the next matching event after the position. While it fails, the events behind it wait
--   redelivery  an event up to the position that is sent again; it does not hold up the head
--   lease       the server that sends for the webhook; the epoch changes with each lease, and results of an older one are refused

create table webhook (
  account_id uuid not null,
  webhook_id uuid not null,
  name text not null,
  url text not null,
  -- Empty: all.
  event_names text[] not null,
  -- No foreign key: without its project the webhook sends nothing, and says so. It must not begin to send everything.
  project_id uuid,
  environment_name text,
  state text not null,
  pause_reason text,
  sealed_secret bytea not null,
  sealed_previous_secret bytea,
  previous_secret_until timestamptz,
  -- The principal that wrote it last. No foreign key: the webhook outlives it, and is paused.
  owner_id uuid not null,
  version bigint not null,
  created_at timestamptz not null,
  position bigint not null,
  missed_events bigint not null default 0,
  epoch bigint not null default 0,
  lease_until timestamptz,
  -- When the head is sent again; null while it does not fail.
  retry_at timestamptz,
  -- When the redeliveries are sent; null without any.
  redelivery_at timestamptz,
  -- When a server last worked on it: a time in the future shows that the clock was moved back.
  touched_at timestamptz,
  failing_since timestamptz,
  last_delivery_at timestamptz,
  last_status smallint,
  due_at timestamptz generated always as (
    case when state = 'active' then coalesce(lease_until, least(retry_at, redelivery_at)) end) stored,
  constraint webhook_key primary key (account_id, webhook_id),
  constraint webhook_state check (state in ('active', 'paused'))
);

-- Serves: what is due although no event is new: what failed, what is sent again, and what a dead server held.
create index webhook_due on webhook (due_at) where due_at is not null;

-- Serves: what a server worked on before its clock was moved back.
create index webhook_touched on webhook (touched_at) where due_at is not null;

-- Serves: the accounts with events that no server was woken for.
create index webhook_waiting on webhook (account_id, position) where state = 'active' and lease_until is null and retry_at is null;

-- Only what was sent, or is being sent again.
create table webhook_delivery (
  account_id uuid not null,
  webhook_id uuid not null,
  -- Of the event in the log.
  position bigint not null,
  -- Also the id of the event: a webhook sends an event once, until it is delivered or dead.
  delivery_id uuid not null,
  event_name text not null,
  status text not null,
  attempts integer not null,
  last_status smallint,
  last_error text,
  first_attempt_at timestamptz not null,
  last_attempt_at timestamptz,
  next_attempt_at timestamptz,
  -- When it was delivered, or given up.
  ended_at timestamptz,
  -- No foreign key: the deletion of a webhook would delete all its deliveries at once. Retention deletes them in batches.
  constraint webhook_delivery_key primary key (account_id, webhook_id, position),
  constraint webhook_delivery_status check (status in ('pending', 'delivered', 'dead'))
);

-- Serves: redelivery by id.
create index webhook_delivery_by_id on webhook_delivery (account_id, webhook_id, delivery_id);

-- Serves: lists by status, and what is being sent again.
create index webhook_delivery_of_status on webhook_delivery (account_id, webhook_id, status, position) where status <> 'delivered';

-- Serves: retention.
create index webhook_delivery_ended on webhook_delivery (status, ended_at) where ended_at is not null;

-- Serves: the metric of the oldest delivery that waits.
create index webhook_delivery_waiting on webhook_delivery (first_attempt_at) where status = 'pending';
