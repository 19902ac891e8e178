-- Taken before a row is deleted and before one is inserted, so that the insert sees the generation of the deleted one.
create or replace function lock_environment_name(account_id uuid, project_id uuid, name text) returns void language sql as $$
  select pg_advisory_xact_lock(hashtextextended(account_id::text || project_id::text || name, 75))
$$;

-- Also for environments that are deleted with their project. Then nothing can be created under their names, and a lock
-- for each of them could be more than PostgreSQL has room for.
create or replace function keep_deleted_environment() returns trigger language plpgsql as $$
begin
  if exists (select from project p where p.account_id = old.account_id and p.project_id = old.project_id) then
    perform lock_environment_name(old.account_id, old.project_id, old.name);
  end if;
  insert into deleted_environment as d (account_id, project_id, environment_name, generation, environment_id)
  values (old.account_id, old.project_id, old.name, old.generation, old.environment_id)
  on conflict (account_id, project_id, environment_name)
    do update set generation = excluded.generation, environment_id = excluded.environment_id;
  return old;
end $$;

create or replace trigger environment_deleted before delete on environment for each row execute function keep_deleted_environment();

create or replace function number_environment() returns trigger language plpgsql as $$
begin
  perform lock_environment_name(new.account_id, new.project_id, new.name);
  new.generation := greatest(new.generation, 1 + (
    select d.generation from deleted_environment d where d.account_id = new.account_id and d.project_id = new.project_id
      and d.environment_name = new.name));
  return new;
end $$;

create or replace trigger environment_numbered before insert on environment for each row execute function number_environment();
