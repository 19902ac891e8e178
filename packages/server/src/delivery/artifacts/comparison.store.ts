/** Comparison of two versions. */
import type { ColumnTypes } from '../../kernel/database/database.ts';
import { guardedRead } from '../../kernel/security/guarded-read.ts';
import { chunksOfManifest } from './manifest.store.ts';

const comparisonRow = {
  /** Null if the environment does not exist. */
  environment_name: 'text?',
  against_environment_name: 'text?',
  /** Null if the version does not exist. */
  digest: 'text?',
  against_digest: 'text?',
  added: 'text[]?',
  removed: 'text[]?',
  changed: 'text[]?',
} satisfies ColumnTypes;

// A chunk in both versions contains the same files.
const selectFiles = (digest: string, other: string) => `
  select file.path collate "C" as path, file.sha256
  from manifest m cross join (${chunksOfManifest}) cross join unnest(c.paths, c.digests) as file (path, sha256)
  where m.account_id = $account_id and m.digest = ${digest} and not exists (
    select from manifest o where o.account_id = $account_id and o.digest = ${other} and c.digest = any(o.chunks))`;
const selectSide = (environment: string, version: string) => `
  select e.name, v.manifest_digest as digest
  from (select) as one
  left join environment e on e.account_id = $account_id and e.project_id = $project_id and e.name = ${environment}
  left join artifact_version v
    on v.account_id = $account_id and v.project_id = $project_id and v.environment_name = e.name
      and v.version_name = ${version}`;

/** Always one row. */
export const comparisonOfVersions = guardedRead(
  {
    parameters: {
      environment_name: 'text',
      version_name: 'text',
      base_environment_name: 'text',
      base_version_name: 'text',
    },
    row: comparisonRow,
  },
  `
  select given.name as environment_name, base.name as against_environment_name,
    given.digest, base.digest as against_digest, difference.added, difference.removed, difference.changed
  from (${selectSide('$environment_name', '$version_name')}) given
  cross join (${selectSide('$base_environment_name', '$base_version_name')}) base
  left join lateral (
    select array_agg(path order by path) filter (where old.sha256 is null) as added,
      array_agg(path order by path) filter (where new.sha256 is null) as removed,
      array_agg(path order by path) filter (where old.sha256 <> new.sha256) as changed
    from (${selectFiles('given.digest', 'base.digest')}) new full join (${selectFiles('base.digest', 'given.digest')}) old using (path)
    where old.sha256 is distinct from new.sha256
  ) difference on given.digest <> base.digest`,
);
