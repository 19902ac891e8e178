-- Terminology
--   promotion   a version copied to another environment of its project: the same manifest under the same name

-- Where a promoted version came from, and who brought it; when, is its deployed_at. The environment may be gone since.
alter table artifact_version
  add column promoted_from text collate "C",
  add column promoted_by uuid,
  add constraint artifact_version_promotion_whole check ((promoted_from is null) = (promoted_by is null));

-- Serves: the list of enabled versions and the newest of them, however many disabled ones there are.
create index artifact_version_newest_enabled
  on artifact_version (account_id, project_id, environment_name, deployed_at desc, version_name desc) where enabled;

-- How many versions an environment has (docs/adr/0008). One row, without slots: a version comes by an upload, which takes longer than
-- the wait for the row.
create table artifact_counter (
  account_id uuid not null,
  project_id uuid not null,
  environment_name text collate "C" not null,
  versions bigint not null,
  enabled_versions bigint not null,
  constraint artifact_counter_key primary key (account_id, project_id, environment_name),
  constraint artifact_counter_in_environment foreign key (account_id, project_id, environment_name)
    references environment on delete cascade
) with (fillfactor = 50);

insert into artifact_counter (account_id, project_id, environment_name, versions, enabled_versions)
select account_id, project_id, environment_name, count(*), count(*) filter (where enabled)
from artifact_version group by account_id, project_id, environment_name;
