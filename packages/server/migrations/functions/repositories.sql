-- A repository is dropped with its association, with its project, and when it moves to another host.
create or replace function drop_hosted_repository() returns trigger language plpgsql as $$
begin
  insert into dropped_repository (account_id, project_id, folder, repository_name, dropped_at)
  values (old.account_id, old.project_id, old.project_id || '.' || gen_random_uuid(), old.repository_name, now());
  return null;
end $$;

create or replace trigger hosted_repository_dropped after delete on repository
  for each row when (old.provider = 'headgate') execute function drop_hosted_repository();

create or replace trigger hosted_repository_moved after update on repository
  for each row when (old.provider = 'headgate' and new.provider <> 'headgate') execute function drop_hosted_repository();
