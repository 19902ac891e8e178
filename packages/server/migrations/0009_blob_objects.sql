-- Terminology
--   object     bytes in the object store, under a key: a pack, the blobs that one upload brought, one after another; or, from before there were
--              packs, one blob (docs/adr/0017)
--   condemned  nothing refers to it any more; it goes when that has been so for the grace

create type blob_object_state as enum (
  -- Written down before its bytes are; nothing refers to it.
  'pending',
  -- Blobs have their place in it.
  'live',
  -- Nothing refers to it any more: it is removed.
  'doomed');

create table blob_object (
  account_id uuid not null,
  object_key text collate "C" not null,
  state blob_object_state not null,
  -- 0 while pending.
  size bigint not null,
  -- Of the blobs that have their place in it.
  live_bytes bigint not null,
  -- When it came into its state.
  since timestamptz not null,
  constraint blob_object_key primary key (account_id, object_key),
  constraint blob_object_of_account foreign key (account_id) references account on delete cascade
);

-- Serves: the removal of what was given up or is doomed.
create index blob_object_leaving on blob_object (account_id, since) where state <> 'live';
-- Serves: the packs that are to be written anew, or removed.
create index blob_object_sparse on blob_object (account_id, object_key) where state = 'live' and live_bytes * 2 < size;

-- Where a blob lies; one without bytes has no object, and the key ''. No foreign keys: their checks cost an upload as much as the rows, and
-- accounts are never deleted (docs/adr/0017).
alter table blob drop constraint blob_of_account;
alter table blob
  add column object_key text collate "C",
  add column object_offset bigint not null default 0,
  add column condemned_at timestamptz;
update blob set object_key = case when size = 0 then '' else left(digest, 2) || '/' || digest end;
alter table blob alter column object_key set not null, alter column object_offset drop default;
insert into blob_object (account_id, object_key, state, size, live_bytes, since)
  select account_id, left(digest, 2) || '/' || digest, 'live', size, size, created_at from blob where size > 0;

-- Serves: the removal of condemned blobs.
create index blob_condemned on blob (account_id, condemned_at) where condemned_at is not null;

alter table manifest
  -- SHA-256 of each of its files, once.
  add column digests bytea[],
  add column condemned_at timestamptz;
update manifest set digests = array(select distinct decode(file ->> 'sha256', 'hex') from jsonb_array_elements(files) as file);
alter table manifest
  alter column digests set not null,
  -- Digests do not compress; trying to costs more than writing them.
  alter column digests set storage external,
  alter column files set storage external;

-- How often blobs of an account were removed: an upload in whose time that has not changed has lost none of those that it found.
alter table account add column blob_removals bigint not null default 0;

-- Serves: whether any manifest holds a blob.
create index manifest_by_digest on manifest using gin (digests);
-- Serves: the removal of condemned manifests.
create index manifest_condemned on manifest (account_id, condemned_at) where condemned_at is not null;
-- Serves: whether any version has a manifest.
create index artifact_version_by_manifest on artifact_version (account_id, manifest_digest);

-- Ends a transaction as the breach of a constraint would that no table can have.
create function breach(constraint_told text) returns text
language plpgsql volatile as $$
begin
  raise exception using errcode = 'HG100', message = 'refused', constraint = constraint_told;
end $$;
