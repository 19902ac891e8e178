import {
  type BodyOf,
  createEnvironment,
  type EnvironmentConnectionOverride,
  type EnvironmentRole,
  getEnvironment,
  listEnvironments,
  type Permission,
  permissions,
  updateEnvironment,
} from '@headgate/contract';
import { requireHeldPermissions } from '../../access/custom-roles/index.ts';
import { requireRow, type Transaction } from '../../kernel/database/database.ts';
import type { AccountEvent } from '../../kernel/database/events.ts';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { requireMatch } from '../../kernel/http/if-match.ts';
import { computePageBounds } from '../../kernel/http/paging.ts';
import { problem } from '../../kernel/http/problems.ts';
import type { Scope } from '../../kernel/security/permissions.ts';
import { findOnlyAgent, listVaultNames, requireAgent, requireVaultNames } from '../agents/index.ts';
import {
  environmentByName,
  environmentPage,
  insertEnvironment,
  lockEnvironment,
  presentEnvironment,
  renderEnvironmentEtag,
  updateEnvironmentRow,
} from './environment.store.ts';
import {
  insertConnectionOverrides,
  insertDefaultConnections,
  replaceConnectionOverrides,
  replaceDefaultConnections,
} from './environment-connection.store.ts';
import { readConnectionOverrides, readDefaultConnections } from './environment-connection.ts';
import { readQualityRules } from './quality-rules.ts';

export function environmentRoutes({ read, write }: Endpoints): void {
  read(listEnvironments, async ({ query, page }) => {
    const { limit, offset } = computePageBounds(query);
    const { rows, total } = await page(environmentPage, { limit, offset });
    return { body: { page: query.page, results: rows.map(presentEnvironment), size: limit, total } };
  });

  read(getEnvironment, async ({ params, rows }) => {
    const name = params.environmentName;
    const row = requireRow(await rows(environmentByName, { name }), () =>
      problem('environment-not-found', { name }),
    );
    return { body: presentEnvironment(row), etag: renderEnvironmentEtag(row) };
  });

  write(createEnvironment, async ({ tx, scope, params, body, now }) => {
    // Only here: paths still reach those that were created before.
    if (body.name.trim() !== body.name) throw problem('environment-name-spaces', { name: body.name });
    const agent =
      body.defaultAgentId === undefined
        ? await findOnlyAgent(tx, scope)
        : await requireAgent(tx, scope, body.defaultAgentId);
    const row = {
      name: body.name,
      display_name: body.displayName ?? null,
      description: body.description ?? null,
      default_agent_id: agent?.agentId ?? null,
      default_agent_name: agent?.name ?? null,
      default_user_access_level: body.defaultUserAccessLevel ?? 'default',
      quality_gate: body.qualityGate ?? 'NONE',
      quality_gate_rules: await readQualityRules(body.qualityGateRules),
      version: 1,
      created_at: now,
    };
    const defaults = readDefaultConnections(body.defaultConnections);
    const overrides = readConnectionOverrides(body.connectionOverrides);
    const at = { scope, projectId: params.projectId, environmentName: row.name };
    await requireHeldLevel(tx, at, now, row.default_user_access_level);
    insertEnvironment(tx, scope, params.projectId, row);
    await insertDefaultConnections(tx, at, defaults);
    await insertConnectionOverrides(tx, at, overrides);
    const granted = await requireOverrideNames({ tx, scope, now }, params.projectId, overrides);
    const shown = presentEnvironment(row);
    const after = { ...shown, ...pickConnections(body) };
    return {
      body: shown,
      etag: renderEnvironmentEtag(row),
      location: `/v1/projects/${params.projectId}/environments/${encodeURIComponent(row.name)}`,
      events: [
        buildEnvironmentEvent('environment-created', params.projectId, row.name, { after }),
        ...granted,
      ],
    };
  });

  write(updateEnvironment, async ({ tx, scope, params, headers, body, now }) => {
    const { projectId } = params;
    const rules = await readQualityRules(body.qualityGateRules);
    const stored = await lockEnvironment(tx, scope, projectId, params.environmentName);
    requireMatch(headers['If-Match'], renderEnvironmentEtag(stored));
    const { defaultAgentId } = body;
    const current = { agentId: stored.default_agent_id, name: stored.default_agent_name };
    const agent =
      defaultAgentId === undefined
        ? current
        : defaultAgentId === ''
          ? undefined
          : await requireAgent(tx, scope, defaultAgentId);
    const row = {
      ...stored,
      display_name: body.displayName === undefined ? stored.display_name : body.displayName || null,
      description: body.description === undefined ? stored.description : body.description || null,
      default_agent_id: agent?.agentId ?? null,
      default_agent_name: agent?.name ?? null,
      default_user_access_level: body.defaultUserAccessLevel ?? stored.default_user_access_level,
      quality_gate: body.qualityGate ?? stored.quality_gate,
      quality_gate_rules: body.qualityGateRules === undefined ? stored.quality_gate_rules : rules,
      version: stored.version + 1,
    };
    const at = { scope, projectId, environmentName: row.name };
    if (row.default_user_access_level !== stored.default_user_access_level)
      await requireHeldLevel(tx, at, now, row.default_user_access_level);
    updateEnvironmentRow(tx, scope, projectId, row);
    const { defaultConnections, connectionOverrides } = body;
    if (defaultConnections !== undefined)
      await replaceDefaultConnections(tx, at, readDefaultConnections(defaultConnections));
    const overrides = readConnectionOverrides(connectionOverrides);
    if (connectionOverrides !== undefined) await replaceConnectionOverrides(tx, at, overrides);
    const granted = await requireOverrideNames({ tx, scope, now }, projectId, overrides);
    const shown = presentEnvironment(row);
    const states = {
      before: presentEnvironment(stored),
      after: { ...shown, ...pickConnections(body) },
    };
    return {
      body: shown,
      etag: renderEnvironmentEtag(row),
      events: [buildEnvironmentEvent('environment-updated', projectId, row.name, states), ...granted],
    };
  });
}

const roleOfLevel: Readonly<Record<string, EnvironmentRole>> = {
  admin: 'OWNER',
  runner: 'OPERATOR',
  readOnly: 'VIEWER',
};

/** The level gives a role to everyone with a role in the project, also to the caller. Throws `permissions-not-held`. */
async function requireHeldLevel(
  tx: Transaction,
  { scope, projectId, environmentName }: { scope: Scope; projectId: string; environmentName: string },
  now: Date,
  level: string,
): Promise<void> {
  const role = roleOfLevel[level];
  if (role === undefined) return;
  const given = (Object.keys(permissions) as Permission[]).filter((name) => {
    const roles: readonly string[] = permissions[name].environment;
    return roles.includes(role);
  });
  await requireHeldPermissions(tx, { scope, now }, given, { projectId, environmentName });
}

/** Throws `vault-name-not-granted` and `too-many-vault-names`. */
function requireOverrideNames(
  call: { tx: Transaction; scope: Scope; now: Date },
  projectId: string,
  overrides: readonly EnvironmentConnectionOverride[],
): Promise<AccountEvent[]> {
  const names = listVaultNames(overrides.map(({ connectionProperties }) => connectionProperties));
  return requireVaultNames(call, { projectId, agentId: null, names, orReference: true });
}

/** The connections, for the event of a create or update. */
function pickConnections({
  defaultConnections,
  connectionOverrides,
}: Pick<BodyOf<typeof createEnvironment>, 'defaultConnections' | 'connectionOverrides'>) {
  return {
    ...(defaultConnections === undefined ? {} : { defaultConnections }),
    ...(connectionOverrides === undefined
      ? {}
      : { connectionOverrides: readConnectionOverrides(connectionOverrides) }),
  };
}

export function buildEnvironmentEvent(
  name: AccountEvent['name'],
  projectId: string,
  environmentName: string,
  states: { before?: object; after?: object },
): AccountEvent {
  return {
    name,
    projectId,
    environmentName,
    subject: { type: 'environment', id: environmentName, name: environmentName },
    ...states,
  };
}
