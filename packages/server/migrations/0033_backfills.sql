-- Backfills: the runs of a schedule for ticks that are past.
--
-- Terminology
--   tick      as in 0031; the ticks of a backfill are chosen when it is created, and each gets one run
--   room      how many more of its runs may be under way

create table backfill (
  account_id uuid not null,
  -- Its order is the order of creation: ids are UUIDs of version 7.
  backfill_id uuid not null,
  project_id uuid not null,
  schedule_id uuid not null,
  -- That of the schedule, which does not change.
  environment_name text collate "C" not null,
  status text not null,
  range_from timestamptz not null,
  range_to timestamptz not null,
  concurrency integer not null,
  -- In order. The first `started_count` of them have a run.
  ticks timestamptz[] not null,
  tick_count integer not null,
  started_count integer not null,
  -- The principal with whose rights it runs, and its name.
  requested_by uuid not null,
  user_name text not null,
  -- Null when it has ended. Later than now if a tick could not start.
  next_round_at timestamptz,
  problem_code text,
  problem_detail text,
  problem_since timestamptz,
  -- How its runs ended: executions are kept for a shorter time than this row might be.
  counts jsonb,
  created_at timestamptz not null,
  ended_at timestamptz,
  constraint backfill_key primary key (account_id, backfill_id),
  constraint backfill_of_schedule foreign key (account_id, schedule_id) references schedule on delete cascade,
  constraint backfill_of_project foreign key (account_id, project_id) references project on delete cascade,
  constraint backfill_status_known check (status in ('RUNNING', 'STOPPING', 'COMPLETED', 'CANCELLED', 'FAILED')),
  constraint backfill_end_whole check (
    (status in ('COMPLETED', 'CANCELLED', 'FAILED')) = (ended_at is not null)
    and (ended_at is null) = (next_round_at is not null) and (ended_at is null) = (counts is null)),
  constraint backfill_problem_whole check (num_nonnulls(problem_code, problem_detail, problem_since) in (0, 3))
);

-- Serves: the backfills of a schedule, newest first; the deletion of a schedule.
create index backfill_by_schedule on backfill (account_id, schedule_id, backfill_id);
-- Serves: the limit of a project.
create index backfill_under_way on backfill (account_id, project_id) where ended_at is null;
-- Serves: the backfills that may start a tick or end.
create index backfill_due on backfill (next_round_at) where next_round_at is not null;

-- Serves: how many runs of a backfill have each status, and its newest runs.
create index pipeline_execution_by_backfill
  on pipeline_execution (account_id, backfill_id, status, execution_id) where backfill_id is not null;
