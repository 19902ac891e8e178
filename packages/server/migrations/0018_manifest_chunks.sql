-- Terminology
--   chunk  some files of a manifest that follow each other in the order of their paths. Which paths they are is decided by the paths alone, so
--          that versions with nearly the same files have nearly the same chunks, each stored once an account

create table manifest_chunk (
  account_id uuid not null,
  -- SHA-256 of its part of a manifest's canonical form.
  digest bytea not null,
  -- Of each file, in the order of the paths.
  paths text[] not null,
  digests bytea[] not null,
  sizes bigint[] not null,
  constraint manifest_chunk_key primary key (account_id, digest),
  constraint manifest_chunk_of_account foreign key (account_id) references account on delete cascade
);
-- Digests do not compress, and paths are few: trying to costs more than writing them.
alter table manifest_chunk
  alter column paths set storage external,
  alter column digests set storage external,
  alter column sizes set storage external;

-- A manifest of before is one chunk, which is all of its canonical form.
insert into manifest_chunk (account_id, digest, paths, digests, sizes)
select m.account_id, decode(m.digest, 'hex'), array_agg(file ->> 'path' order by place),
  array_agg(decode(file ->> 'sha256', 'hex') order by place), array_agg((file ->> 'size')::bigint order by place)
from manifest m, jsonb_array_elements(m.files) with ordinality as listed (file, place)
group by m.account_id, m.digest;

alter table manifest add column chunks bytea[];
update manifest set chunks = case when jsonb_array_length(files) = 0 then '{}' else array[decode(digest, 'hex')] end;
drop index manifest_by_digest;
alter table manifest
  alter column chunks set not null,
  alter column chunks set storage external,
  drop column files,
  drop column digests;

-- Serves: whether any manifest has a chunk.
create index manifest_by_chunk on manifest using gin (chunks);
-- Serves: whether any chunk lists a blob.
create index manifest_chunk_by_blob on manifest_chunk using gin (digests);
