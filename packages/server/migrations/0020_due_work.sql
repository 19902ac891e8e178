-- The sweep reads what is due and nothing else.

-- The next moment at which the sweep must look at a row, or an earlier one; null once the work has ended. See kernel/work.ts.
alter table work add column due_at timestamptz;
-- The first sweep looks at all work there is, and writes the exact moment.
update work set due_at = created_at where state <> 'ended';
alter table work add constraint work_due_until_ended check ((state = 'ended') = (due_at is null));
-- Serves: the sweep.
create index work_due on work (due_at) where due_at is not null;

-- Serves: what an agent holds, and what is under way in an account.
drop index work_under_way;
drop index work_commanded;
create index work_under_way on work (account_id, agent_id) where state in ('held', 'silent');

-- The agent became restricted, or its allowlist changed: its queued work must be checked once.
alter table agent add column places_changed boolean not null default false;
update agent set places_changed = true where restricted_access;
create index agent_places_changed on agent (account_id, agent_id) where places_changed;
drop index agent_restricted;

-- Its silence was noticed: the sweep need not look at it again. A sign of life clears it.
alter table agent_instance add column silent boolean not null default false;
-- Serves: the search for instances that fell silent.
create index agent_instance_heard on agent_instance (last_seen_at) where not silent;
drop index agent_alive;

-- Serve: the sweep over agents that are pausing, and over pauses that end.
drop index agent_paused;
create index agent_pausing on agent (account_id, agent_id) where status = 'pausing';
create index agent_resuming on agent (paused_until) where paused;

-- Block ranges say where old rows lie only until the space of removed rows is used again.
drop index secret_write_by_age;
create index secret_write_by_age on secret_write (created_at) where status <> 'PENDING';
drop index secret_check_by_age;
create index secret_check_by_age on secret_check (created_at);

-- Serves: whether an account keeps a credential that may do everything.
create index credential_super_admins on credential (account_id, credential_id)
  where account_role = 'SUPER_ADMIN' and expires_at is null and revoked_at is null;

-- Their rows change several times a second and are removed after minutes: vacuum and analyze them often. A table that once was large keeps its
-- pages, so that no plan is made for an empty one.
alter table work set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02, vacuum_truncate = false);
alter table agent_instance set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02, vacuum_truncate = false);
alter table idempotency_record set (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05, vacuum_truncate = false);

-- Analyzes the tables that have more than doubled since they were last analyzed, and answers how many. Plans are kept per connection until a table
-- they read is analyzed: without this, one that was made for a small table is used until autovacuum comes by.
create function analyze_grown_tables() returns integer
language plpgsql volatile as $$
declare
  grown regclass;
  analyzed integer := 0;
begin
  if not pg_try_advisory_xact_lock(hashtextextended('headgate statistics', 0)) then return 0; end if;
  for grown in
    select c.oid from pg_class c
    where c.relkind = 'r' and c.relnamespace = (select relnamespace from pg_class where oid = 'work'::regclass)
      and pg_relation_size(c.oid) > 2 * greatest(c.relpages, 4)::bigint * current_setting('block_size')::bigint
  loop
    execute format('analyze (skip_locked) %s', grown);
    analyzed := analyzed + 1;
  end loop;
  return analyzed;
end $$;
