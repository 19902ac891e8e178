/** The tables `variable` and `variable_override`. */
import type {
  EnvironmentOverride,
  Variable,
  VariableBehaviour,
  VariableType,
  VariableValue,
} from '@headgate/contract';
import { countedTotal, countInserted, countRemoved } from '../../kernel/database/counter.ts';
import { insertStatement, statement, type Transaction } from '../../kernel/database/database.ts';
import { entityTag } from '../../kernel/http/if-match.ts';
import { problem } from '../../kernel/http/problems.ts';
import { guardedPage, guardedRead } from '../../kernel/security/guarded-read.ts';
import type { Scope } from '../../kernel/security/permissions.ts';

export interface VariableRow {
  variable_id: string;
  name: string;
  type: VariableType;
  behaviour: VariableBehaviour;
  description: string | null;
  value: VariableValue | null;
  supports_double_resolution: boolean;
  version: number;
}

const columns = 'variable_id, name, type, behaviour, description, value, supports_double_resolution, version';

/** Parameters: limit, offset. */
export const variablePage = guardedPage<VariableRow>({
  // Where the page begins is found in the index alone; only its rows are fetched.
  rows: `
    select ${columns} from variable
    where account_id = $1 and project_id = $3 and name >= (
      select name from variable where account_id = $1 and project_id = $3 order by name limit 1 offset $10)
    order by name limit $9`,
  total: countedTotal('variable'),
});

/** Parameters: names, of which the project may have some. */
export const variablesAmong = guardedRead<{ name: string }>(
  'select name from variable where account_id = $1 and project_id = $3 and name = any ($9::text[])',
);

/** Parameters: name. */
export const variableByName = guardedRead<VariableRow>(
  `select ${columns} from variable where account_id = $1 and project_id = $3 and name = $9`,
);

/** Parameters: name, environment name or null for all. A variable without overrides is one row without an environment. */
export const variableWithOverrides = guardedRead<
  VariableRow & { environment_name: string | null; override_value: VariableValue }
>(`
  select ${columns}, o.environment_name, o.override_value
  from variable v
  left join lateral (
    select environment_name, value as override_value from variable_override
    where account_id = $1 and project_id = $3 and variable_name = $9 and ($10::text is null or environment_name = $10)
  ) o on true
  where v.account_id = $1 and v.project_id = $3 and v.name = $9
  order by o.environment_name`);

const insertOne = insertStatement(
  'variable',
  {
    account_id: 'uuid',
    project_id: 'uuid',
    name: 'text',
    variable_id: 'uuid',
    type: 'variable_type',
    behaviour: 'variable_behaviour',
    description: 'text',
    value: 'jsonb',
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
  tx.send(insertOne, [
    scope.accountId,
    projectId,
    row.name,
    row.variable_id,
    row.type,
    row.behaviour,
    row.description,
    valueParameter(row.value),
    row.supports_double_resolution,
    row.version,
    now,
  ]);
}

const lockOne = statement<VariableRow>(`
  select ${columns} from variable where account_id = $1 and project_id = $2 and name = $3 for update`);

/** Locks a variable until the end of the transaction; its overrides are then only written by this one. */
export async function lockVariable(
  tx: Transaction,
  scope: Scope,
  projectId: string,
  name: string,
): Promise<VariableRow> {
  const [row] = await tx.query(lockOne, [scope.accountId, projectId, name]);
  if (row === undefined) throw problem('variable-not-found', { name });
  return row;
}

const updateOne = statement(`
  update variable set type = $4, behaviour = $5, description = $6, value = $7, supports_double_resolution = $8, version = $9
  where account_id = $1 and project_id = $2 and name = $3`);

export function updateVariableRow(tx: Transaction, scope: Scope, projectId: string, row: VariableRow): void {
  tx.send(updateOne, [
    scope.accountId,
    projectId,
    row.name,
    row.type,
    row.behaviour,
    row.description,
    valueParameter(row.value),
    row.supports_double_resolution,
    row.version,
  ]);
}

const deleteOne = statement(`
  with counted as (${countRemoved('variable')})
  delete from variable where account_id = $1 and project_id = $2 and name = $3`);

export function deleteVariableRow(tx: Transaction, scope: Scope, projectId: string, name: string): void {
  tx.send(deleteOne, [scope.accountId, projectId, name]);
}

const overridesOf = statement<{ environment_name: string; value: VariableValue }>(`
  select environment_name, value from variable_override
  where account_id = $1 and project_id = $2 and variable_name = $3 order by environment_name`);

export async function overridesOfVariable(
  tx: Transaction,
  scope: Scope,
  projectId: string,
  name: string,
): Promise<EnvironmentOverride[]> {
  const rows = await tx.query(overridesOf, [scope.accountId, projectId, name]);
  return rows.map((row) => ({ environmentName: row.environment_name, value: row.value }));
}

const upsertOverrides = statement(`
  insert into variable_override (account_id, project_id, variable_name, environment_name, value)
  select $1, $2, $3, o."environmentName", o.value
  from jsonb_to_recordset($4) as o("environmentName" text, value jsonb)
  on conflict (account_id, project_id, variable_name, environment_name) do update set value = excluded.value`);

export function writeOverrideRows(
  tx: Transaction,
  scope: Scope,
  projectId: string,
  name: string,
  overrides: readonly EnvironmentOverride[],
): void {
  if (overrides.length > 0)
    tx.send(upsertOverrides, [scope.accountId, projectId, name, JSON.stringify(overrides)]);
}

const deleteOverrideRow = statement<{ value: VariableValue }>(`
  delete from variable_override where account_id = $1 and project_id = $2 and variable_name = $3 and environment_name = $4
  returning value`);

/** Answers the value that the override had. */
export async function removeOverride(
  tx: Transaction,
  scope: Scope,
  projectId: string,
  name: string,
  environmentName: string,
): Promise<VariableValue> {
  const [row] = await tx.query(deleteOverrideRow, [scope.accountId, projectId, name, environmentName]);
  if (row === undefined) throw problem('override-not-found', { name, environmentName });
  return row.value;
}

function valueParameter(value: VariableValue | null): string | null {
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

export function variableTag(row: VariableRow): string {
  return entityTag(row.variable_id, row.version);
}
