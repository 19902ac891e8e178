-- A clock that is set far forward and back must not leave schedules silent (docs/adr/0058).

alter table schedule
  -- By the clock of the server, when `next_tick_at` was computed.
  add column timed_at timestamptz;
update schedule set timed_at = coalesce(last_tick_at, created_at);

-- Serves: schedules whose next tick was computed in the future.
create index schedule_by_timing on schedule (timed_at) where next_tick_at is not null;
