-- What an environment was given with its making: which data warehouse connection it uses, and properties of connections that differ there.

create table environment_default_connection (
  account_id uuid not null,
  project_id uuid not null,
  environment_name text collate "C" not null,
  platform_connection_type text not null,
  auth_provider text not null,
  connection_name text collate "C" not null,
  constraint environment_default_connection_key
    primary key (account_id, project_id, environment_name, platform_connection_type, auth_provider),
  constraint environment_default_connection_in_environment foreign key (account_id, project_id, environment_name)
    references environment on delete cascade,
  constraint environment_default_connection_of_connection foreign key (account_id, project_id, connection_name)
    references connection on delete cascade
);

create table environment_connection_override (
  account_id uuid not null,
  project_id uuid not null,
  environment_name text collate "C" not null,
  connection_name text collate "C" not null,
  -- {property: {value} or {secretName, secretKey?}}; references to secrets, never secrets
  properties jsonb not null,
  constraint environment_connection_override_key primary key (account_id, project_id, environment_name, connection_name),
  constraint environment_connection_override_in_environment foreign key (account_id, project_id, environment_name)
    references environment on delete cascade,
  constraint environment_connection_override_of_connection foreign key (account_id, project_id, connection_name)
    references connection on delete cascade
);

-- Serve: the deletion of a connection.
create index environment_default_connection_by_connection
  on environment_default_connection (account_id, project_id, connection_name);
create index environment_connection_override_by_connection
  on environment_connection_override (account_id, project_id, connection_name);
