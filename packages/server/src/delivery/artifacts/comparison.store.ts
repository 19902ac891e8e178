/** Two versions side by side. */
import { guardedRead } from '../../kernel/security/guarded-read.ts';
import { chunksOfManifest } from './manifest.store.ts';

export interface ComparisonRow {
  /** Null where the environment is not there. */
  environment_name: string | null;
  against_environment_name: string | null;
  /** Null where the version is not there. */
  digest: string | null;
  against_digest: string | null;
  added: string[] | null;
  removed: string[] | null;
  changed: string[] | null;
}

// A chunk that both have is the same files in both.
const filesOf = (digest: string, other: string) => `
  select file.path collate "C" as path, file.sha256
  from manifest m cross join (${chunksOfManifest}) cross join unnest(c.paths, c.digests) as file (path, sha256)
  where m.account_id = $1 and m.digest = ${digest} and not exists (
    select from manifest o where o.account_id = $1 and o.digest = ${other} and c.digest = any(o.chunks))`;
const side = (environment: string, version: string) => `
  select e.name, v.manifest_digest as digest
  from (select) as one
  left join environment e on e.account_id = $1 and e.project_id = $3 and e.name = ${environment}
  left join artifact_version v
    on v.account_id = $1 and v.project_id = $3 and v.environment_name = e.name and v.version_name = ${version}`;

/** Parameters: environment, version, environment and version of the base. Always one row. */
export const comparisonOfVersions = guardedRead<ComparisonRow>(`
  select given.name as environment_name, base.name as against_environment_name,
    given.digest, base.digest as against_digest, difference.added, difference.removed, difference.changed
  from (${side('$9', '$10')}) given
  cross join (${side('$11', '$12')}) base
  left join lateral (
    select array_agg(path order by path) filter (where old.sha256 is null) as added,
      array_agg(path order by path) filter (where new.sha256 is null) as removed,
      array_agg(path order by path) filter (where old.sha256 <> new.sha256) as changed
    from (${filesOf('given.digest', 'base.digest')}) new full join (${filesOf('base.digest', 'given.digest')}) old using (path)
    where old.sha256 is distinct from new.sha256
  ) difference on given.digest <> base.digest`);
