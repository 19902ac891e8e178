-- Repositories hosted here.
--
-- Terminology
--   write    a change of refs that is under way: written before git moves them, deleted with the event of the push
--   dropped  no longer the repository of a project; its folder is moved aside and kept for 30 days

create table repository_write (
  account_id uuid not null,
  project_id uuid not null,
  write_id uuid not null,
  -- [{"name", "from", "to"}]: full names of refs, and object ids or null.
  moves jsonb not null,
  actor_id uuid not null,
  actor_kind text not null,
  request_id uuid,
  begun_at timestamptz not null,
  -- After it, a server compares the moves with the refs and ends the write.
  lease_until timestamptz not null,
  constraint repository_write_key primary key (account_id, project_id, write_id),
  constraint repository_write_repository foreign key (account_id, project_id) references repository on delete cascade
);

-- Serves: the writes of a server that died.
create index repository_write_due on repository_write (lease_until);

-- Null until a server has moved the folder aside.
alter table dropped_repository add moved_at timestamptz;

-- Serves: the folders to move.
create index dropped_repository_to_move on dropped_repository (account_id, project_id) where moved_at is null;

-- The folder in which hosted repositories lie: all servers of this database must see the same one.
create table repositories_folder (
  one boolean not null default true,
  marker uuid not null,
  constraint repositories_folder_key primary key (one),
  constraint repositories_folder_one check (one)
);

-- A repository is dropped with its association, with its project, and when it moves to another host.
create function drop_hosted_repository() returns trigger language plpgsql as $$
begin
  insert into dropped_repository (account_id, project_id, folder, repository_name, dropped_at)
  values (old.account_id, old.project_id, old.project_id || '.' || gen_random_uuid(), old.repository_name, now());
  return null;
end $$;
create trigger hosted_repository_dropped after delete on repository
  for each row when (old.provider = 'headgate') execute function drop_hosted_repository();
create trigger hosted_repository_moved after update on repository
  for each row when (old.provider = 'headgate' and new.provider <> 'headgate') execute function drop_hosted_repository();
