-- Gives positions to at most `at_most` committed events, in the order of their sequences. Call it before a statement
-- that reads the log, not in it. Nested loops only: the pending events are found by their places. The settled sequence
-- spares it the index entries of all the events that were pending once.
create or replace function sequence_events(
  for_account uuid, at_most integer, out last bigint, out removed bigint, out numbered integer
)
language plpgsql volatile
set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off as $$
declare
  may_mark boolean := pg_current_xact_id_if_assigned() is null;
  log event_position%rowtype;
  to_mark bigint;
  is_pending boolean;
  oldest_running xid8;
  highest bigint;
begin
  numbered := 0;
  -- One statement: with two snapshots an event that another session numbers between them would be neither pending nor
  -- before `last`.
  select coalesce(p.last_position, 0), coalesce(p.removed_position, 0), p.last_sequence, exists (
      select from event e
      where e.account_id = for_account and e.position is null and e.sequence > coalesce(p.settled_sequence, 0))
    into last, removed, to_mark, is_pending
  from (select) as one left join event_position p on p.account_id = for_account;
  if not is_pending then return; end if;
  -- Each transaction with the sequence `to_mark` or a lower one has its id, and this one gets a higher id now.
  perform pg_current_xact_id();
  if to_mark is null then
    insert into event_position (account_id) values (for_account) on conflict do nothing;
  end if;
  select * into log from event_position p where p.account_id = for_account for update;
  -- A new statement has a new snapshot, which sees what was numbered before the lock was granted.
  with pending as materialized (
    select e.ctid as place, e.sequence, row_number() over (order by e.sequence) as number
    from event e
    where e.account_id = for_account and e.position is null and e.sequence > log.settled_sequence
    order by e.sequence
    limit at_most
  ), placed as (
    update event e set position = log.last_position + pending.number from pending where e.ctid = pending.place
    returning e.sequence
  )
  select count(*), max(placed.sequence), pg_snapshot_xmin(pg_current_snapshot()) into numbered, highest, oldest_running
  from placed;
  last := log.last_position + numbered;
  removed := log.removed_position;
  if numbered = 0 then return; end if;
  if numbered < at_most and oldest_running >= log.marked_transaction then
    log.settled_sequence := greatest(log.settled_sequence, log.marked_sequence);
    log.marked_transaction := null;
  end if;
  if log.marked_transaction is null and may_mark and to_mark > log.settled_sequence then
    log.marked_sequence := to_mark;
    log.marked_transaction := pg_current_xact_id();
  end if;
  update event_position p set last_position = last, last_sequence = greatest(log.last_sequence, highest),
    settled_sequence = log.settled_sequence, marked_sequence = log.marked_sequence, marked_transaction = log.marked_transaction
  where p.account_id = for_account;
end $$;

-- Accounts with pending events, one lookup each.
create or replace function list_accounts_with_pending_events(at_most integer) returns setof uuid
language sql stable as $$
  with recursive found (account_id) as (
    (select account_id from event where position is null order by account_id limit 1)
    union all
    select (select e.account_id from event e where e.position is null and e.account_id > found.account_id order by e.account_id limit 1)
    from found where found.account_id is not null
  )
  select account_id from found where account_id is not null limit at_most
$$;

create or replace function write_actor_name() returns trigger
language plpgsql as $$
begin
  select p.name into new.actor_name from principal p where p.account_id = new.account_id and p.principal_id = new.actor_id;
  return new;
end $$;

create or replace trigger event_of_user before insert on event
  for each row when (new.actor_kind = 'user' and new.actor_name is null) execute function write_actor_name();
