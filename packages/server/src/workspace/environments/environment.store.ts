/** The table `environment`. */
import { createHash } from 'node:crypto';
import type { Environment, Permission, QualityGate, QualityRule } from '@headgate/contract';
import {
  type ColumnTypes,
  type RowOf,
  requireRow,
  statement,
  type Transaction,
  typed,
} from '../../kernel/database/database.ts';
import { problem } from '../../kernel/http/problems.ts';
import { explainForbidden } from '../../kernel/security/guard.ts';
import { guardedPage, guardedRead } from '../../kernel/security/guarded-read.ts';
import { findRequiredRoles, findUserAccessId, type Scope } from '../../kernel/security/permissions.ts';

const environmentRow = {
  name: 'text',
  display_name: 'text?',
  description: 'text?',
  default_agent_id: 'uuid?',
  default_agent_name: 'text?',
  version: 'bigint',
  created_at: 'timestamptz',
  quality_gate: typed<QualityGate>('text'),
  quality_gate_rules: typed<QualityRule[] | null>('jsonb'),
} satisfies ColumnTypes;
export type EnvironmentRow = RowOf<typeof environmentRow>;

const columns =
  'e.name, e.display_name, e.description, e.default_agent_id, a.name as default_agent_name, e.version, e.created_at, e.quality_gate, e.quality_gate_rules';
const joined = `environment e left join agent a on a.account_id = e.account_id and a.agent_id = e.default_agent_id`;

export const environmentPage = guardedPage(
  { parameters: { limit: 'bigint', offset: 'bigint' }, row: environmentRow },
  {
    rows: `select ${columns} from ${joined} where e.account_id = $account_id and e.project_id = $project_id order by e.name limit $limit offset $offset`,
    total:
      'select count(*)::bigint as total from environment where account_id = $account_id and project_id = $project_id',
  },
);

export const environmentByName = guardedRead(
  { parameters: { name: 'text' }, row: environmentRow },
  `select ${columns} from ${joined} where e.account_id = $account_id and e.project_id = $project_id and e.name = $name`,
);

/**
 * SQL: the generation of the environment of a row. Null if it was deleted: its work is cancelled, and holders have
 * learned the generation before.
 */
export const selectGeneration = (of: string) => `(select n.generation from environment n
  where n.account_id = ${of}.account_id and n.project_id = ${of}.project_id and n.name = ${of}.environment_name)`;

const insertOne = statement(
  {
    parameters: {
      account_id: 'uuid',
      project_id: 'uuid',
      name: 'text',
      display_name: 'text?',
      description: 'text?',
      default_agent_id: 'uuid?',
      default_user_access_level: 'text',
      version: 'bigint',
      created_at: 'timestamptz',
      quality_gate: 'text',
      quality_gate_rules: 'jsonb?',
    },
  },
  `
  insert into environment (account_id, project_id, name, display_name, description, default_agent_id,
    default_user_access_level, version, created_at, quality_gate, quality_gate_rules)
  values ($account_id, $project_id, $name, $display_name, $description, $default_agent_id,
    $default_user_access_level, $version, $created_at, $quality_gate, $quality_gate_rules)`,
);

export function insertEnvironment(
  tx: Transaction,
  scope: Scope,
  projectId: string,
  row: EnvironmentRow & { default_user_access_level: string },
): void {
  tx.onConstraint('environment_key', () => problem('environment-name-taken', { name: row.name }));
  tx.onConstraint('environment_default_agent', () =>
    problem('unknown-agent', { id: row.default_agent_id ?? '' }),
  );
  tx.send(insertOne, { account_id: scope.accountId, project_id: projectId, ...row, ...renderRules(row) });
}

const renderRules = ({ quality_gate_rules: rules }: EnvironmentRow) => ({
  quality_gate_rules: rules === null ? null : JSON.stringify(rules),
});

const selectOne = statement(
  { parameters: { account_id: 'uuid', project_id: 'uuid', name: 'text' }, row: environmentRow },
  `
  select ${columns} from ${joined} where e.account_id = $account_id and e.project_id = $project_id and e.name = $name`,
);

/** Throws `environment-not-found`. */
export async function requireEnvironment(
  tx: Transaction,
  scope: Scope,
  projectId: string,
  name: string,
): Promise<EnvironmentRow> {
  const found = await tx.query(selectOne, { account_id: scope.accountId, project_id: projectId, name });
  return requireRow(found, () => problem('environment-not-found', { name }));
}

const lockOne = statement(
  {
    parameters: { account_id: 'uuid', project_id: 'uuid', name: 'text' },
    row: {
      name: 'text',
      display_name: 'text?',
      description: 'text?',
      default_agent_id: 'uuid?',
      default_agent_name: 'text?',
      version: 'bigint',
      created_at: 'timestamptz',
      quality_gate: typed<QualityGate>('text'),
      quality_gate_rules: typed<QualityRule[] | null>('jsonb'),
      default_user_access_level: 'text',
    },
  },
  `
  select ${columns}, e.default_user_access_level from ${joined}
  where e.account_id = $account_id and e.project_id = $project_id and e.name = $name for update of e`,
);

/** Throws `environment-not-found`. */
export async function lockEnvironment(tx: Transaction, scope: Scope, projectId: string, name: string) {
  const found = await tx.query(lockOne, { account_id: scope.accountId, project_id: projectId, name });
  return requireRow(found, () => problem('environment-not-found', { name }));
}

const updateOne = statement(
  {
    parameters: {
      account_id: 'uuid',
      project_id: 'uuid',
      name: 'text',
      display_name: 'text?',
      description: 'text?',
      default_agent_id: 'uuid?',
      default_user_access_level: 'text',
      version: 'bigint',
      quality_gate: 'text',
      quality_gate_rules: 'jsonb?',
    },
  },
  `
  update environment set display_name = $display_name, description = $description,
    default_agent_id = $default_agent_id, default_user_access_level = $default_user_access_level, version = $version,
    quality_gate = $quality_gate, quality_gate_rules = $quality_gate_rules
  where account_id = $account_id and project_id = $project_id and name = $name`,
);

export function updateEnvironmentRow(
  tx: Transaction,
  scope: Scope,
  projectId: string,
  row: EnvironmentRow & { default_user_access_level: string },
): void {
  tx.send(updateOne, { account_id: scope.accountId, project_id: projectId, ...row, ...renderRules(row) });
}

export const deleteEnvironmentRow = statement(
  { parameters: { account_id: 'uuid', project_id: 'uuid', name: 'text' }, alone: true },
  'delete from environment where account_id = $account_id and project_id = $project_id and name = $name',
);

export interface EnvironmentsWhere {
  all: ReadonlySet<string>;
  permitted: ReadonlySet<string>;
}

const selectWhere = statement(
  {
    parameters: {
      account_id: 'uuid',
      principal_id: 'uuid',
      user_credential_id: 'uuid?',
      other_principal_ids: 'uuid[]?',
      project_id: 'uuid',
      account_roles: typed<string>('text[]'),
      project_roles: typed<string>('text[]'),
      environment_roles: typed<string>('text[]'),
      now: 'timestamptz',
    },
    row: { name: 'text', permitted: 'boolean' },
  },
  `
  select e.name, r.standing = 'permitted' as permitted
  from environment e, lateral rights($account_id::uuid, $principal_id::uuid, $project_id::uuid, e.name,
    $account_roles::text[], $project_roles::text[], $environment_roles::text[], $now::timestamptz, $user_credential_id::uuid,
    $other_principal_ids::uuid[]) r
  where e.account_id = $account_id and e.project_id = $project_id`,
);

/**
 * The environments of a project, and those in which the caller has a permission. For operations on several
 * environments, or none.
 */
export async function findPermittedEnvironments(
  tx: Pick<Transaction, 'query'>,
  scope: Scope,
  projectId: string,
  permission: Permission,
  now: Date,
): Promise<EnvironmentsWhere> {
  const roles = findRequiredRoles(permission);
  const rows = await tx.query(selectWhere, {
    account_id: scope.accountId,
    principal_id: scope.actorId,
    user_credential_id: findUserAccessId(scope),
    other_principal_ids: scope.otherActorIds ?? null,
    project_id: projectId,
    account_roles: roles.account,
    project_roles: roles.project,
    environment_roles: roles.environment,
    now,
  });
  return {
    all: new Set(rows.map((row) => row.name)),
    permitted: new Set(rows.filter((row) => row.permitted).map((row) => row.name)),
  };
}

/** Throws `forbidden` unless the caller has the permission in this environment. */
export async function requirePermissionIn(
  tx: Transaction,
  scope: Scope,
  projectId: string,
  environmentName: string,
  permission: Permission,
  now: Date,
): Promise<void> {
  const { permitted } = await findPermittedEnvironments(tx, scope, projectId, permission, now);
  if (!permitted.has(environmentName))
    throw await explainForbidden(tx.query, scope, permission, { projectId, environmentName });
}

export function presentEnvironment(row: EnvironmentRow): Environment {
  const environment: Environment = { name: row.name };
  if (row.display_name !== null) environment.displayName = row.display_name;
  if (row.description !== null) environment.description = row.description;
  if (row.default_agent_id !== null) environment.defaultAgentId = row.default_agent_id;
  if (row.default_agent_name !== null) environment.defaultAgentName = row.default_agent_name;
  if (row.quality_gate !== 'NONE') environment.qualityGate = row.quality_gate;
  if (row.quality_gate_rules !== null) environment.qualityGateRules = row.quality_gate_rules;
  return environment;
}

/**
 * A hash of the representation, because the default agent's name can change without the environment, and of
 * the creation time, because a name can be used again.
 */
export function renderEnvironmentEtag(row: EnvironmentRow): string {
  const state = JSON.stringify([presentEnvironment(row), row.version, row.created_at]);
  return `"${createHash('sha256').update(state).digest('base64url').slice(0, 16)}"`;
}
