/** The tables `variable` and `variable_override`. */
import type {
  EnvironmentOverride,
  Variable,
  VariableBehaviour,
  VariableType,
  VariableValue,
} from '@headgate/contract';
import { countedTotal, countInserted, countRemoved } from '../../kernel/database/counter.ts';
import {
  type ColumnTypes,
  insertStatement,
  type RowOf,
  requireRow,
  statement,
  type Transaction,
  typed,
} from '../../kernel/database/database.ts';
import { makeEntityTag } from '../../kernel/http/if-match.ts';
import { problem } from '../../kernel/http/problems.ts';
import { guardedPage, guardedRead } from '../../kernel/security/guarded-read.ts';
import type { Scope } from '../../kernel/security/permissions.ts';

const variableRow = {
  variable_id: 'uuid',
  name: 'text',
  type: typed<VariableType>('variable_type'),
  behaviour: typed<VariableBehaviour>('variable_behaviour'),
  description: 'text?',
  value: typed<VariableValue | null>('jsonb'),
  supports_double_resolution: 'boolean',
  version: 'bigint',
} satisfies ColumnTypes;
export type VariableRow = RowOf<typeof variableRow>;

const columns = 'variable_id, name, type, behaviour, description, value, supports_double_resolution, version';

export const variablePage = guardedPage(
  { parameters: { limit: 'bigint', offset: 'bigint' }, row: variableRow },
  {
    // The start of the page is found in the index alone; only the rows of the page are fetched.
    rows: `
    select ${columns} from variable
    where account_id = $account_id and project_id = $project_id and name >= (
      select name from variable where account_id = $account_id and project_id = $project_id order by name
        limit 1 offset $offset)
    order by name limit $limit`,
    total: countedTotal('variable'),
  },
);

export const variablesAmong = guardedRead(
  { parameters: { names: 'text[]' }, row: { name: 'text' } },
  'select name from variable where account_id = $account_id and project_id = $project_id and name = any ($names::text[])',
);

export const variableByName = guardedRead(
  { parameters: { name: 'text' }, row: variableRow },
  `select ${columns} from variable where account_id = $account_id and project_id = $project_id and name = $name`,
);

/** A variable without overrides is returned as one row without an environment. */
export const variableWithOverrides = guardedRead(
  {
    parameters: { variable_name: 'text', environment_name: 'text?' },
    row: { ...variableRow, environment_name: 'text?', override_value: typed<VariableValue>('jsonb') },
  },
  `
  select ${columns}, o.environment_name, o.override_value
  from variable v
  left join lateral (
    select environment_name, value as override_value from variable_override
    where account_id = $account_id and project_id = $project_id and variable_name = $variable_name
      and ($environment_name::text is null or environment_name = $environment_name)
  ) o on true
  where v.account_id = $account_id and v.project_id = $project_id and v.name = $variable_name
  order by o.environment_name`,
);

const insertOne = insertStatement(
  'variable',
  {
    account_id: 'uuid',
    project_id: 'uuid',
    name: 'text',
    variable_id: 'uuid',
    type: typed<VariableType>('variable_type'),
    behaviour: typed<VariableBehaviour>('variable_behaviour'),
    description: 'text?',
    value: 'jsonb?',
    supports_double_resolution: 'boolean',
    version: 'bigint',
    created_at: 'timestamptz',
  },
  { with: [countInserted('variable')] },
);

export function insertVariable(
  tx: Transaction,
  scope: Scope,
  projectId: string,
  row: VariableRow,
  now: Date,
): void {
  tx.onConstraint('variable_name_taken', () => problem('variable-name-taken', { name: row.name }));
  tx.send(insertOne, {
    account_id: scope.accountId,
    project_id: projectId,
    name: row.name,
    variable_id: row.variable_id,
    type: row.type,
    behaviour: row.behaviour,
    description: row.description,
    value: renderValue(row.value),
    supports_double_resolution: row.supports_double_resolution,
    version: row.version,
    created_at: now,
  });
}

const lockOne = statement(
  { parameters: { account_id: 'uuid', project_id: 'uuid', name: 'text' }, row: variableRow },
  `
  select ${columns} from variable where account_id = $account_id and project_id = $project_id and name = $name for update`,
);

/**
 * Locks a variable until the end of the transaction. Other transactions cannot write its overrides
 * meanwhile.
 */
export async function lockVariable(
  tx: Transaction,
  scope: Scope,
  projectId: string,
  name: string,
): Promise<VariableRow> {
  const found = await tx.query(lockOne, { account_id: scope.accountId, project_id: projectId, name });
  return requireRow(found, () => problem('variable-not-found', { name }));
}

const updateOne = statement(
  {
    parameters: {
      account_id: 'uuid',
      project_id: 'uuid',
      name: 'text',
      type: typed<string>('variable_type'),
      behaviour: typed<string>('variable_behaviour'),
      description: 'text?',
      value: 'jsonb?',
      supports_double_resolution: 'boolean',
      version: 'bigint',
    },
  },
  `
  update variable set type = $type, behaviour = $behaviour, description = $description, value = $value,
    supports_double_resolution = $supports_double_resolution, version = $version
  where account_id = $account_id and project_id = $project_id and name = $name`,
);

export function updateVariableRow(tx: Transaction, scope: Scope, projectId: string, row: VariableRow): void {
  tx.send(updateOne, {
    account_id: scope.accountId,
    project_id: projectId,
    name: row.name,
    type: row.type,
    behaviour: row.behaviour,
    description: row.description,
    value: renderValue(row.value),
    supports_double_resolution: row.supports_double_resolution,
    version: row.version,
  });
}

export const deleteVariableRow = statement(
  { parameters: { account_id: 'uuid', project_id: 'uuid', name: 'text' } },
  `
  with counted as (${countRemoved('variable')})
  delete from variable where account_id = $account_id and project_id = $project_id and name = $name`,
);

const overridesOf = statement(
  {
    parameters: { account_id: 'uuid', project_id: 'uuid', variable_name: 'text' },
    row: { environment_name: 'text', value: typed<VariableValue>('jsonb') },
  },
  `
  select environment_name, value from variable_override
  where account_id = $account_id and project_id = $project_id and variable_name = $variable_name order by environment_name`,
);

export async function listOverrides(
  tx: Transaction,
  scope: Scope,
  projectId: string,
  name: string,
): Promise<EnvironmentOverride[]> {
  const rows = await tx.query(overridesOf, {
    account_id: scope.accountId,
    project_id: projectId,
    variable_name: name,
  });
  return rows.map((row) => ({ environmentName: row.environment_name, value: row.value }));
}

const upsertOverrides = statement(
  { parameters: { account_id: 'uuid', project_id: 'uuid', variable_name: 'text', overrides: 'jsonb' } },
  `
  insert into variable_override (account_id, project_id, variable_name, environment_name, value)
  select $account_id, $project_id, $variable_name, o."environmentName", o.value
  from jsonb_to_recordset($overrides) as o("environmentName" text, value jsonb)
  on conflict (account_id, project_id, variable_name, environment_name) do update set value = excluded.value`,
);

export function writeOverrideRows(
  tx: Transaction,
  scope: Scope,
  projectId: string,
  name: string,
  overrides: readonly EnvironmentOverride[],
): void {
  if (overrides.length > 0)
    tx.send(upsertOverrides, {
      account_id: scope.accountId,
      project_id: projectId,
      variable_name: name,
      overrides: JSON.stringify(overrides),
    });
}

const deleteOverrideRow = statement(
  {
    parameters: { account_id: 'uuid', project_id: 'uuid', variable_name: 'text', environment_name: 'text' },
    row: { value: typed<VariableValue>('jsonb') },
  },
  `
  delete from variable_override where account_id = $account_id and project_id = $project_id
    and variable_name = $variable_name and environment_name = $environment_name
  returning value`,
);

/** Returns the value of the removed override. */
export async function removeOverride(
  tx: Transaction,
  scope: Scope,
  projectId: string,
  name: string,
  environmentName: string,
): Promise<VariableValue> {
  const found = await tx.query(deleteOverrideRow, {
    account_id: scope.accountId,
    project_id: projectId,
    variable_name: name,
    environment_name: environmentName,
  });
  const row = requireRow(found, () => problem('override-not-found', { name, environmentName }));
  return row.value;
}

function renderValue(value: VariableValue | null): string | null {
  return value === null ? null : JSON.stringify(value);
}

export function presentVariable(row: VariableRow): Variable {
  const variable: Variable = {
    id: row.variable_id,
    name: row.name,
    type: row.type,
    behaviour: row.behaviour,
    supportsDoubleResolution: row.supports_double_resolution,
  };
  if (row.description !== null) variable.description = row.description;
  if (row.value !== null) variable.value = row.value;
  return variable;
}

export function renderVariableEtag(row: VariableRow): string {
  return makeEntityTag(row.variable_id, row.version);
}
