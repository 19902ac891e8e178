/** The table `project_tag`. */
import type { ProjectTag } from '@headgate/contract';
import {
  type ColumnTypes,
  type RowOf,
  requireRow,
  statement,
  type Transaction,
} from '../../kernel/database/database.ts';
import { makeEntityTag } from '../../kernel/http/if-match.ts';
import { problem } from '../../kernel/http/problems.ts';
import { callerSeesAll, guardedPage, guardedRead, inEffect } from '../../kernel/security/guarded-read.ts';
import type { Scope } from '../../kernel/security/permissions.ts';

const projectTagRow = {
  project_tag_id: 'uuid',
  name: 'text',
  value: 'text',
  version: 'bigint',
} satisfies ColumnTypes;
export type ProjectTagRow = RowOf<typeof projectTagRow>;

const columns = 'project_tag_id, name, value, version';

export const projectTagPage = guardedPage(
  { parameters: { limit: 'bigint', offset: 'bigint' }, row: projectTagRow },
  {
    rows: `
    select ${columns} from project_tag
    where account_id = $account_id and project_id = $project_id
    order by name limit $limit offset $offset`,
    total: `
    select count(*)::bigint as total from project_tag
    where account_id = $account_id and project_id = $project_id`,
  },
);

export const projectTagByName = guardedRead(
  { parameters: { name: 'text' }, row: projectTagRow },
  `select ${columns} from project_tag
  where account_id = $account_id and project_id = $project_id and name = $name`,
);

// A role in an environment does not give the right to read the project's tags.
const found = `t.account_id = $account_id and t.name = $name and ($value::text is null or t.value = $value)
    and (${callerSeesAll} or t.project_id in (
      select g.project_id from granted_role g
      where g.account_id = $account_id and g.principal_id = $principal_id and g.environment_name is null
        and ${inEffect('g')}))`;

export const taggedProjectPage = guardedPage(
  {
    parameters: { name: 'text', value: 'text?', limit: 'bigint', offset: 'bigint' },
    row: { projectId: 'uuid', projectName: 'text', name: 'text', value: 'text' },
  },
  {
    rows: `
    select t.project_id as "projectId", p.name as "projectName", t.name, t.value
    from project_tag t
    join project p on p.account_id = t.account_id and p.project_id = t.project_id
    where ${found}
    order by t.value, p.name limit $limit offset $offset`,
    total: `select count(*)::bigint as total from project_tag t where ${found}`,
  },
);

const insertOne = statement(
  { parameters: { account_id: 'uuid', project_id: 'uuid', ...projectTagRow, created_at: 'timestamptz' } },
  `
  insert into project_tag (account_id, project_id, name, project_tag_id, value, version, created_at)
  values ($account_id, $project_id, $name, $project_tag_id, $value, $version, $created_at)`,
);

/** Throws `project-tag-name-taken`. */
export function insertProjectTag(
  tx: Transaction,
  scope: Scope,
  projectId: string,
  row: ProjectTagRow,
  now: Date,
): void {
  tx.onConstraint('project_tag_name_taken', () => problem('project-tag-name-taken', { name: row.name }));
  tx.send(insertOne, { account_id: scope.accountId, project_id: projectId, ...row, created_at: now });
}

const lockOne = statement(
  { parameters: { account_id: 'uuid', project_id: 'uuid', name: 'text' }, row: projectTagRow },
  `
  select ${columns} from project_tag
  where account_id = $account_id and project_id = $project_id and name = $name for update`,
);

/** Throws `project-tag-not-found`. */
export async function lockProjectTag(
  tx: Transaction,
  scope: Scope,
  projectId: string,
  name: string,
): Promise<ProjectTagRow> {
  const found = await tx.query(lockOne, { account_id: scope.accountId, project_id: projectId, name });
  return requireRow(found, () => problem('project-tag-not-found', { name }));
}

const updateOne = statement(
  {
    parameters: {
      account_id: 'uuid',
      project_id: 'uuid',
      name: 'text',
      value: 'text',
      version: 'bigint',
    },
  },
  `
  update project_tag set value = $value, version = $version
  where account_id = $account_id and project_id = $project_id and name = $name`,
);

export function updateProjectTagRow(
  tx: Transaction,
  scope: Scope,
  projectId: string,
  { name, value, version }: ProjectTagRow,
): void {
  tx.send(updateOne, { account_id: scope.accountId, project_id: projectId, name, value, version });
}

export const deleteProjectTagRow = statement(
  { parameters: { account_id: 'uuid', project_id: 'uuid', name: 'text' } },
  'delete from project_tag where account_id = $account_id and project_id = $project_id and name = $name',
);

export function renderProjectTagEtag({ project_tag_id: id, version }: ProjectTagRow): string {
  return makeEntityTag(id, version);
}

export function presentProjectTag({ project_tag_id: id, name, value }: ProjectTagRow): ProjectTag {
  return { id, name, value };
}
