-- Shared pipelines (docs/adr/0019).
--
-- Terminology
--   group      the shared pipelines that are published together, named by a prefix
--   version    a manifest in a group under a name; the latest is the newest enabled one

create table shared_pipeline_version (
  account_id uuid not null,
  prefix text collate "C" not null,
  version_name text collate "C" not null,
  manifest_digest text collate "C" not null,
  branch text,
  commit_hash text,
  provider text not null,
  enabled boolean not null,
  created_by uuid not null,
  created_at timestamptz not null,
  constraint shared_pipeline_version_exists primary key (account_id, prefix, version_name),
  constraint shared_pipeline_version_of_account foreign key (account_id) references account on delete cascade,
  constraint shared_pipeline_version_of_manifest foreign key (account_id, manifest_digest) references manifest
);

-- Serves: the latest version of a group; the names of the groups.
create index shared_pipeline_version_latest
  on shared_pipeline_version (account_id, prefix, enabled, created_at desc, version_name desc);
-- Serves: the list of all versions.
create index shared_pipeline_version_newest
  on shared_pipeline_version (account_id, created_at desc, prefix desc, version_name desc);
-- Serves: whether a manifest is in use.
create index shared_pipeline_version_by_manifest on shared_pipeline_version (account_id, manifest_digest);

-- What the start has chosen for each use of shared pipelines, as the agent is told; null when there is none:
-- [{sharedPipelineIdPrefix, requestedVersionName?, versionName and artifactDigest, or fault}]
alter table pipeline_execution add column shared_artifacts jsonb;
