import {
  createVariable,
  deleteOverride,
  deleteVariable,
  getOverrides,
  getVariable,
  listVariables,
  updateVariable,
  type Variable,
  writeOverrides,
} from '@headgate/contract';
import { requireRow } from '../../kernel/database/database.ts';
import type { AccountEvent } from '../../kernel/database/events.ts';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { requireMatch } from '../../kernel/http/if-match.ts';
import { computePageBounds } from '../../kernel/http/paging.ts';
import { problem } from '../../kernel/http/problems.ts';
import { findPermittedEnvironments, requireEnvironment } from '../environments/index.ts';
import { createOverridesProblem, judgeOverrides, readOverrides } from './override.ts';
import {
  deleteVariableRow,
  insertVariable,
  listOverrides,
  lockVariable,
  presentVariable,
  removeOverride,
  renderVariableEtag,
  updateVariableRow,
  type VariableRow,
  variableByName,
  variablePage,
  variableWithOverrides,
  writeOverrideRows,
} from './variable.store.ts';
import { explainMisfit, getEmptyValue, hasType, pickKnownValue } from './variable.ts';

export function variableRoutes({ read, write }: Endpoints): void {
  read(listVariables, async ({ query, page }) => {
    const { limit, offset } = computePageBounds(query);
    const { rows, total } = await page(variablePage, { limit, offset });
    return { body: { page: query.page, results: rows.map(presentVariable), size: limit, total } };
  });

  read(getVariable, async ({ params, rows }) => {
    const name = params.variableName;
    const row = requireRow(await rows(variableByName, { name }), () =>
      problem('variable-not-found', { name }),
    );
    return { body: presentVariable(row), etag: renderVariableEtag(row) };
  });

  write(createVariable, ({ tx, scope, params, body, now, newId }) => {
    requireFittingValue('body.value', body);
    const row: VariableRow = {
      variable_id: newId(),
      name: body.name,
      type: body.type,
      behaviour: body.behaviour,
      description: body.description ?? null,
      value: body.value === undefined ? (getEmptyValue(body.type) ?? null) : pickKnownValue(body.value),
      supports_double_resolution: body.supportsDoubleResolution ?? false,
      version: 1,
    };
    insertVariable(tx, scope, params.projectId, row, now);
    const after = presentVariable(row);
    return {
      body: after,
      etag: renderVariableEtag(row),
      location: `/v1/projects/${params.projectId}/variables/${row.name}`,
      events: [buildVariableEvent('variable-created', params.projectId, row, { after })],
    };
  });

  write(updateVariable, async ({ tx, scope, params, headers, body }) => {
    requireFittingValue('body.value', body);
    const stored = await lockVariable(tx, scope, params.projectId, params.variableName);
    requireMatch(headers['If-Match'], renderVariableEtag(stored));
    if (body.type !== stored.type) {
      const overrides = await listOverrides(tx, scope, params.projectId, stored.name);
      const environments = overrides
        .filter(({ value }) => !hasType(body.type, value))
        .map((each) => each.environmentName);
      if (environments.length > 0) throw problem('override-type-mismatch', { type: body.type, environments });
    }
    const value = body.type === stored.type ? stored.value : (getEmptyValue(body.type) ?? null);
    const row: VariableRow = {
      ...stored,
      type: body.type,
      behaviour: body.behaviour,
      description: body.description ?? stored.description,
      value: body.value === undefined ? value : pickKnownValue(body.value),
      supports_double_resolution: body.supportsDoubleResolution ?? stored.supports_double_resolution,
      version: stored.version + 1,
    };
    updateVariableRow(tx, scope, params.projectId, row);
    const states = { before: presentVariable(stored), after: presentVariable(row) };
    return {
      body: states.after,
      etag: renderVariableEtag(row),
      events: [buildVariableEvent('variable-updated', params.projectId, row, states)],
    };
  });

  write(deleteVariable, async ({ tx, scope, params, headers }) => {
    const stored = await lockVariable(tx, scope, params.projectId, params.variableName);
    requireMatch(headers['If-Match'], renderVariableEtag(stored));
    const environmentOverrides = await listOverrides(tx, scope, params.projectId, stored.name);
    tx.send(deleteVariableRow, {
      account_id: scope.accountId,
      project_id: params.projectId,
      name: stored.name,
    });
    const before = { ...presentVariable(stored), environmentOverrides };
    return { events: [buildVariableEvent('variable-deleted', params.projectId, stored, { before })] };
  });

  read(getOverrides, async ({ params, query, rows }) => {
    const name = params.variableName;
    const found = await rows(variableWithOverrides, {
      variable_name: name,
      environment_name: query.environmentName ?? null,
    });
    const first = requireRow(found, () => problem('variable-not-found', { name }));
    const environmentOverrides = found.flatMap((row) =>
      row.environment_name === null
        ? []
        : [{ environmentName: row.environment_name, value: row.override_value }],
    );
    const { environmentName } = query;
    if (environmentName !== undefined && environmentOverrides.length === 0) {
      throw problem('override-not-found', { name, environmentName });
    }
    return { body: { ...presentVariable(first), environmentOverrides } };
  });

  write(writeOverrides, async ({ tx, scope, params, query, body, now }) => {
    const overrides = readOverrides(body);
    const { projectId, variableName } = params;
    const [writable, variable, before] = await Promise.all([
      findPermittedEnvironments(tx, scope, projectId, writeOverrides.permission, now),
      lockVariable(tx, scope, projectId, variableName),
      listOverrides(tx, scope, projectId, variableName),
    ]);
    const { accepted, failed } = judgeOverrides(overrides, variable, writable);
    if (query.atomic && failed.length > 0) throw createOverridesProblem(overrides, failed);
    writeOverrideRows(tx, scope, params.projectId, variable.name, accepted);
    const named = new Set(accepted.map((each) => each.environmentName));
    const states = {
      before: { environmentOverrides: before.filter((each) => named.has(each.environmentName)) },
      after: { environmentOverrides: accepted },
    };
    return {
      body: { environmentOverrides: accepted, failedOverride: failed },
      events:
        accepted.length === 0
          ? []
          : [
              {
                ...buildVariableEvent('override-written', params.projectId, variable, states),
                environmentName: accepted.length === 1 ? accepted[0]?.environmentName : undefined,
              },
            ],
    };
  });

  write(deleteOverride, async ({ tx, scope, params }) => {
    await requireEnvironment(tx, scope, params.projectId, params.environmentName);
    const variable = await lockVariable(tx, scope, params.projectId, params.variableName);
    const { environmentName } = params;
    const value = await removeOverride(tx, scope, params.projectId, variable.name, environmentName);
    const before = { environmentOverrides: [{ environmentName, value }] };
    const event = buildVariableEvent('override-deleted', params.projectId, variable, { before });
    return { events: [{ ...event, environmentName }] };
  });
}

function requireFittingValue(field: string, { type, value }: Pick<Variable, 'type' | 'value'>): void {
  if (value === undefined) return;
  const found = explainMisfit(type, value);
  if (found !== undefined) throw problem('value-type-mismatch', { field, type, found });
}

function buildVariableEvent(
  name: AccountEvent['name'],
  projectId: string,
  row: VariableRow,
  states: { before?: object; after?: object },
): AccountEvent {
  return { name, projectId, subject: { type: 'variable', id: row.variable_id, name: row.name }, ...states };
}
