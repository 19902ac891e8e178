-- The data of an environment is named by its generation on the agents: an environment that is created under the name of a
-- deleted one never sees the data of that one, also on an agent that was away meanwhile.
alter table environment add column generation integer not null default 1;

-- Agents ask which environments of the projects that they have data of are deleted. It outlives the project. One row for
-- each name: generations up to this one are deleted.
create table deleted_environment (
  account_id uuid not null,
  project_id uuid not null,
  environment_name text not null,
  generation integer not null,
  constraint deleted_environment_key primary key (account_id, project_id, environment_name)
);

-- Taken before a row is deleted and before one is inserted, so that the insert sees the generation of the deleted one.
create function lock_environment_name(account_id uuid, project_id uuid, name text) returns void language sql as $$
  select pg_advisory_xact_lock(hashtextextended(account_id::text || project_id::text || name, 75))
$$;

-- Also for environments that are deleted with their project. Then nothing can be created under their names, and a lock for each
-- of them could be more than PostgreSQL has room for.
create function keep_deleted_environment() returns trigger language plpgsql as $$
begin
  if exists (select from project p where p.account_id = old.account_id and p.project_id = old.project_id) then
    perform lock_environment_name(old.account_id, old.project_id, old.name);
  end if;
  insert into deleted_environment as d (account_id, project_id, environment_name, generation)
  values (old.account_id, old.project_id, old.name, old.generation)
  on conflict (account_id, project_id, environment_name) do update set generation = excluded.generation;
  return old;
end $$;
create trigger environment_deleted before delete on environment for each row execute function keep_deleted_environment();

create function number_environment() returns trigger language plpgsql as $$
begin
  perform lock_environment_name(new.account_id, new.project_id, new.name);
  new.generation := greatest(new.generation, 1 + (
    select d.generation from deleted_environment d where d.account_id = new.account_id and d.project_id = new.project_id
      and d.environment_name = new.name));
  return new;
end $$;
create trigger environment_numbered before insert on environment for each row execute function number_environment();
