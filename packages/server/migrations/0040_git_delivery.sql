-- Delivery from Git: when a branch was looked at last, and the checks of pull and merge requests.

-- A webhook cannot make the server look at a branch more often than every two seconds.
alter table delivery_rule add column looked_at timestamptz;

-- Serves: webhooks, whose address names the project only.
create index repository_of_project on repository (project_id);

-- The check of a branch that a pull or merge request wants to merge, and the commit status that tells of it.
create table git_review (
  account_id uuid not null,
  project_id uuid not null,
  branch_name text not null,
  -- What was checked last.
  commit_hash text,
  outcome text,
  errors integer,
  warnings integer,
  -- The first findings.
  findings jsonb,
  checked_at timestamptz,
  -- Why the status could not be set.
  problem text,
  attempts integer not null default 0,
  -- Null when there is nothing to do.
  due_at timestamptz,
  looked_at timestamptz,
  touched_at timestamptz not null,
  lease_until timestamptz,
  epoch bigint not null default 0,
  constraint git_review_key primary key (account_id, project_id, branch_name),
  constraint git_review_repository foreign key (account_id, project_id) references repository on delete cascade,
  constraint git_review_outcome check (outcome in ('success', 'failure'))
);

-- Serves: the reviews that are due.
create index git_review_due on git_review (due_at) where due_at is not null;
-- Serves: retention.
create index git_review_age on git_review (touched_at);
