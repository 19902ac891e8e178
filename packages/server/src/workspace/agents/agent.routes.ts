import {
  type Agent,
  type AgentWeight,
  agentDeployments,
  agentStatuses,
  agentTracks,
  agentTypes,
  cloudProviders,
  createAgent,
  deleteAgent,
  getAgent,
  listAgents,
  updateAgent,
  type VaultAccess,
} from '@headgate/contract';
import { generateClientId } from '../../access/credentials/index.ts';
import { requireRow } from '../../kernel/database/database.ts';
import { type AccountEvent, createEventSource } from '../../kernel/database/events.ts';
import type { Wakes } from '../../kernel/database/wakes.ts';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { requireMatch } from '../../kernel/http/if-match.ts';
import { escapeNonAscii } from '../../kernel/http/ignored-members.ts';
import { computePageBounds } from '../../kernel/http/paging.ts';
import { invalidRequest, problem } from '../../kernel/http/problems.ts';
import { findWord, requireWord } from '../../kernel/http/words.ts';
import { toUuid } from '../../kernel/identifiers.ts';
import { generateSecret, type Sealer } from '../../kernel/security/sealed.ts';
import { endWorkOfAgent } from '../../kernel/work/deleted-work.ts';
import type { WorkOwners } from '../../kernel/work/work.ts';
import {
  type AgentRow,
  agentById,
  agentPage,
  deleteAgentRow,
  insertAgent,
  listUnknownWeights,
  lockAgent,
  presentAgent,
  presentSummary,
  renderAgentEtag,
  updateAgentRow,
} from './agent.store.ts';
import { deletableStatuses } from './agent.ts';
import { agentControlRoutes } from './agent-control.routes.ts';
import { renderSecretWakeKey, revokeCertificates } from './agent-secret.store.ts';
import { replaceVaultAccess } from './vault-grant.store.ts';

export interface AgentServices {
  sealer: Sealer;
  owners: WorkOwners;
  wakes: Wakes;
  version: string;
}

export function agentRoutes(endpoints: Endpoints, services: AgentServices): void {
  readingRoutes(endpoints, services);
  writingRoutes(endpoints, services);
  agentControlRoutes(endpoints, services);
}

function readingRoutes({ read }: Endpoints, { version }: AgentServices): void {
  read(listAgents, async ({ query, page }) => {
    const { limit, offset } = computePageBounds(query);
    const { agentId } = query;
    const id = agentId === undefined ? null : toUuid(agentId);
    const type = requireFilterWord(agentTypes, query.agentType, 'agentType');
    const status = requireFilterWord(agentStatuses, query.agentStatus, 'agentStatus');
    const { rows, total } = await page(agentPage, {
      agent_type: type,
      status,
      name: query.name ?? null,
      agent_id: id,
      limit,
      offset,
    });
    if (total === null) throw problem('agent-not-found', { id: agentId ?? '' });
    return { body: { page: query.page, results: rows.map(presentSummary), size: limit, total } };
  });

  read(getAgent, async ({ params, rows }) => {
    const id = params.agentId;
    const row = requireRow(await rows(agentById, { agent_id: toUuid(id) }), () =>
      problem('agent-not-found', { id }),
    );
    const body = row.may_manage ? presentWithVaultAccess(row, version) : presentAgent(row, version);
    return { body, etag: renderAgentEtag(row) };
  });
}

/** With the ids as the database has them. Throws `invalid-request` for one that is there twice. */
function readWeights(weights: readonly AgentWeight[]): AgentWeight[] {
  const read = weights.map((each) => ({ ...each, projectId: toUuid(each.projectId) }));
  const names = read.map(({ projectId, environmentName }) => `${projectId}/${environmentName ?? ''}`);
  const index = names.findIndex((name, place) => names.indexOf(name) < place);
  if (index >= 0)
    throw invalidRequest([
      {
        field: `body.weights[${index}]`,
        pointer: `/body/weights/${index}`,
        detail: 'is a second weight of the same place',
      },
    ]);
  return read;
}

const mostNamed = 10;

function describeUnknown(found: Awaited<ReturnType<typeof listUnknownWeights>>): string[] {
  return found.map(({ project_id: projectId, environment_name: name, has_project: hasProject }) =>
    hasProject
      ? `a weight has no effect: the project ${projectId} has no environment ${JSON.stringify(name)}`
      : `a weight has no effect: there is no project ${projectId}`,
  );
}

/** `team` is a prefix of `team/a`, and of the names of `teammates/`. */
function describeOpenPrefixes(access: VaultAccess | undefined): string[] {
  return Object.entries(access?.projects ?? {}).flatMap(([projectId, { prefixes = [] }]) =>
    prefixes
      .filter((prefix) => !/[/_.-]$/.test(prefix))
      .map((prefix) => {
        const [written, other, outcome] = ['', 'x', '/'].map((end) => JSON.stringify(prefix + end));
        return `the prefix ${written} of the project ${projectId} grants names such as ${other}, too: write ${outcome} if these belong to others`;
      }),
  );
}

function renderWarning(sentences: readonly string[]): { warning?: string } {
  if (sentences.length === 0) return {};
  const more = sentences.length - mostNamed;
  const named = more > 0 ? [...sentences.slice(0, mostNamed), `and ${more} more`] : sentences;
  return { warning: escapeNonAscii(named.join('; ')) };
}

function writingRoutes({ write }: Endpoints, { sealer, owners, wakes, version }: AgentServices): void {
  write(createAgent, async ({ tx, scope, body, now, newId }) => {
    const made = {
      agent_id: newId(),
      name: body.name,
      description: body.description ?? '',
      agent_type: requireWord(agentTypes, body.agentType, 'agentType'),
      cloud_provider: requireWord(cloudProviders, body.cloudProvider, 'cloudProvider'),
      deployment: requireWord(agentDeployments, body.deployment, 'deployment'),
      track_name: requireWord(agentTracks, body.trackName ?? 'current', 'trackName'),
      enable_auto_updates: body.enableAutoUpdates ?? false,
      restricted_access: body.restrictedAccess ?? false,
      client_id: generateClientId(),
      secret: generateSecret(),
    };
    insertAgent(tx, sealer, scope.accountId, made, now);
    const row = await lockAgent(tx, scope, made.agent_id, now);
    const after = presentAgent(row, version);
    return {
      body: presentWithVaultAccess(row, version),
      etag: renderAgentEtag(row),
      location: `/v1/agents/${row.agent_id}`,
      events: [buildAgentEvent('agent-created', after, { after })],
    };
  });

  write(updateAgent, async ({ tx, scope, params, headers, body, now }) => {
    const stored = await lockAgent(tx, scope, params.agentId, now);
    requireMatch(headers['If-Match'], renderAgentEtag(stored));
    const row = {
      ...stored,
      name: body.name ?? stored.name,
      description: body.description ?? stored.description,
      track_name: requireWord(agentTracks, body.trackName ?? stored.track_name, 'trackName'),
      enable_auto_updates: body.enableAutoUpdates ?? stored.enable_auto_updates,
      restricted_access: body.restrictedAccess ?? stored.restricted_access,
      environment_share: body.environmentShare ?? stored.environment_share,
      weights: body.weights === undefined ? stored.weights : readWeights(body.weights),
      version: stored.version + 1,
    };
    updateAgentRow(tx, scope, row);
    // More work may be within its share now.
    tx.afterCommit(() => wakes.wake(row.agent_id, 'all'));
    const [before, after] = [presentAgent(stored, version), presentAgent(row, version)];
    const events = [buildAgentEvent('agent-updated', after, { before, after })];
    const { vaultAccess } = body;
    if (vaultAccess !== undefined) {
      replaceVaultAccess(tx, scope, row.agent_id, vaultAccess);
      row.vault_access = (await lockAgent(tx, scope, row.agent_id, now)).vault_access;
      const pick = ({ vault_access }: AgentRow) =>
        pickProjects(vault_access, Object.keys(vaultAccess.projects));
      events.push(
        buildAgentEvent('agent-vault-access-updated', after, { before: pick(stored), after: pick(row) }),
      );
    }
    const unknown = body.weights === undefined ? [] : await listUnknownWeights(tx, scope, row.weights);
    const warning = renderWarning([...describeUnknown(unknown), ...describeOpenPrefixes(vaultAccess)]);
    return { body: presentWithVaultAccess(row, version), etag: renderAgentEtag(row), events, ...warning };
  });

  write(deleteAgent, async ({ tx, scope, params, query, headers, now, newId, requestId }) => {
    const stored = await lockAgent(tx, scope, params.agentId, now);
    requireMatch(headers['If-Match'], renderAgentEtag(stored));
    const { agent_id, name, status } = stored;
    const forced = !deletableStatuses.includes(status);
    if (forced && !query.force) throw problem('agent-not-stopped', { name, status });
    const revoked = await revokeCertificates(tx, scope, agent_id, now);
    const source = createEventSource(scope, requestId);
    await endWorkOfAgent({ tx, accountId: scope.accountId, source, now, newId }, owners, agent_id);
    deleteAgentRow(tx, scope, agent_id);
    // Every server drops its cached state of the agent and checks the agent's waiting claims again.
    tx.afterCommit(() => {
      wakes.wake(renderSecretWakeKey(agent_id), 'all');
      wakes.wake(agent_id, 'all');
    });
    const before = presentAgent(stored, version);
    const ends = revoked.map((certificate) =>
      buildAgentEvent('certificate-revoked', before, { before: certificate }),
    );
    const states = forced ? { before, after: { forced } } : { before };
    return { events: [...ends, buildAgentEvent('agent-deleted', before, states)] };
  });
}

/** For callers who may manage agents: names of secrets tell something about projects. */
function presentWithVaultAccess(row: AgentRow, version: string): Agent {
  return { ...presentAgent(row, version), vaultAccess: { projects: row.vault_access ?? {} } };
}

function pickProjects(access: AgentRow['vault_access'], projectIds: readonly string[]): VaultAccess {
  const entries = Object.entries(access ?? {}).filter(([id]) => projectIds.includes(id));
  return { projects: Object.fromEntries(entries) };
}

function buildAgentEvent(
  name: AccountEvent['name'],
  agent: Agent,
  states: { before?: object; after?: object },
): AccountEvent {
  return { name, subject: { type: 'agent', id: agent.agentId, name: agent.name }, ...states };
}

function requireFilterWord<Word extends string>(
  words: readonly Word[],
  input: string | undefined,
  member: string,
): Word | null {
  if (input === undefined) return null;
  const word = findWord(words, input);
  if (word !== undefined) return word;
  const detail = `must be one of ${words.join(', ')}`;
  throw invalidRequest([{ field: `query.${member}`, pointer: `/query/${member}`, detail }]);
}
