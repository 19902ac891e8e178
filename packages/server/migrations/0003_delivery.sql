-- Terminology
--   blob       the bytes of one file, named by their SHA-256; stored once an account, outside the database
--   manifest   the list of a version's files with their digests; its own digest names it
--   version    a manifest in an environment under a name

create table blob (
  account_id uuid not null,
  digest text collate "C" not null,
  size bigint not null,
  created_at timestamptz not null,
  constraint blob_key primary key (account_id, digest),
  constraint blob_of_account foreign key (account_id) references account on delete cascade
);

create table manifest (
  account_id uuid not null,
  digest text collate "C" not null,
  -- [{path, sha256, size}], by path
  files jsonb not null,
  -- [{name, type, variables: [{name, type}]}]: the pipelines among the files, as parsed at upload
  pipelines jsonb not null,
  created_at timestamptz not null,
  constraint manifest_key primary key (account_id, digest),
  constraint manifest_of_account foreign key (account_id) references account on delete cascade
);

create table artifact_version (
  account_id uuid not null,
  project_id uuid not null,
  environment_name text collate "C" not null,
  version_name text collate "C" not null,
  manifest_digest text collate "C" not null,
  branch text,
  commit_hash text,
  provider text not null,
  enabled boolean not null,
  created_by uuid not null,
  created_at timestamptz not null,
  deployed_at timestamptz not null,
  constraint artifact_version_exists primary key (account_id, project_id, environment_name, version_name),
  constraint artifact_version_in_environment foreign key (account_id, project_id, environment_name)
    references environment on delete cascade,
  constraint artifact_version_of_manifest foreign key (account_id, manifest_digest) references manifest
);

-- Serves: the list of versions, and the newest enabled one.
create index artifact_version_newest
  on artifact_version (account_id, project_id, environment_name, deployed_at desc, version_name desc);
