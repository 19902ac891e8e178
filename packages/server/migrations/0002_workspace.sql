create type variable_type as enum ('TEXT', 'NUMBER', 'GRID');
create type variable_behaviour as enum ('SHARED', 'COPIED');

create table variable (
  account_id uuid not null,
  project_id uuid not null,
  name text collate "C" not null,
  variable_id uuid not null,
  type variable_type not null,
  behaviour variable_behaviour not null,
  description text,
  value jsonb,
  supports_double_resolution boolean not null,
  version bigint not null,
  created_at timestamptz not null,
  -- The key is also the order of the list.
  constraint variable_name_taken primary key (account_id, project_id, name),
  constraint variable_of_project foreign key (account_id, project_id) references project on delete cascade
);

create table variable_override (
  account_id uuid not null,
  project_id uuid not null,
  variable_name text collate "C" not null,
  environment_name text collate "C" not null,
  value jsonb not null,
  constraint variable_override_key primary key (account_id, project_id, variable_name, environment_name),
  constraint variable_override_of_variable foreign key (account_id, project_id, variable_name)
    references variable on delete cascade,
  constraint variable_override_in_environment foreign key (account_id, project_id, environment_name)
    references environment on delete cascade
);

-- Serves: the deletion of an environment, and the variables of a run.
create index variable_override_by_environment on variable_override (account_id, project_id, environment_name);
