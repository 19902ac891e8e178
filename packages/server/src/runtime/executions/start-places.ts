/** What several starts need, read at once: each place and each agent is read only once. */
import type { SharedArtifact } from '@headgate/contract';
import { chooseVersions } from '../../delivery/shared-pipelines/index.ts';
import { type ColumnTypes, type Read, type RowOf, statement, typed } from '../../kernel/database/database.ts';
import { Problem } from '../../kernel/http/problems.ts';
import { toUuid } from '../../kernel/identifiers.ts';
import type { QueueLimit } from '../../kernel/work/queued-runs.ts';
import { requireStart, type Start, type StartRequest } from './execution.start.ts';
import { joinStart, renderNames, selectStart, startColumns } from './start-needs.ts';

/** A start in any account. */
export interface WantedStart extends StartRequest {
  accountId: string;
  projectId: string;
}

/** What it starts, or why it cannot start. */
export type FoundStart =
  | { start: Omit<Start, 'userName'>; sharedArtifacts: readonly SharedArtifact[]; problem?: undefined }
  | { problem: Problem };

const placeRow = { index: 'integer', ...startColumns } satisfies ColumnTypes;
type PlaceRow = RowOf<typeof placeRow>;

const selectPlaces = statement(
  {
    parameters: {
      account_ids: 'uuid[]',
      project_ids: 'uuid[]',
      environment_names: 'text[]',
      version_names: typed<readonly (string | null)[]>('text[]'),
      /** See `renderNames`. */
      pipeline_names: 'text[]',
      variable_names: 'text[]',
      queue_limit: 'bigint',
      now: 'timestamptz',
    },
    row: placeRow,
  },
  `
  select w.index::integer as index, ${selectStart}
  from unnest($account_ids::uuid[], $project_ids::uuid[], $environment_names::text[], $version_names::text[],
    $pipeline_names::text[]) with ordinality as w (account_id, project_id, environment_name, version_name, pipeline_names, index)
  join environment e on e.account_id = w.account_id and e.project_id = w.project_id and e.name = w.environment_name
  ${joinStart('w.', 'w.pipeline_names::jsonb')}`,
);

const selectAgents = statement(
  {
    parameters: { account_ids: 'uuid[]', agent_ids: 'uuid[]' },
    row: { account_id: 'uuid', agent_id: 'uuid' },
  },
  `
  select a.account_id, a.agent_id from unnest($account_ids::uuid[], $agent_ids::uuid[]) as w (account_id, agent_id)
  join agent a on a.account_id = w.account_id and a.agent_id = w.agent_id`,
);

/**
 * Judges each start like a request for it. The answers are in the order of the starts.
 *
 * @param at where the variables are, for the problems
 */
export async function findStarts(
  read: Read,
  expected: readonly WantedStart[],
  at: string,
  limit: QueueLimit,
  now: Date,
): Promise<FoundStart[]> {
  if (expected.length === 0) return [];
  const places = new Map(expected.map((each) => [renderPlaceKey(each), each]));
  const [rows, agents] = await Promise.all([
    readPlaces(read, [...places.values()], expected, limit, now),
    readAgents(read, expected),
  ]);
  const placeKeys = [...places.keys()];
  const byKey = new Map(rows.map((row) => [placeKeys[row.index - 1], row]));
  const shared = await chooseShared(read, [...places], byKey);
  return expected.map((each) => {
    const key = renderPlaceKey(each);
    const place = byKey.get(key);
    const isKnown = each.agentId !== undefined && agents.has(renderAgentKey(each.accountId, each.agentId));
    try {
      const row = place && {
        ...place,
        user_name: '',
        named_agent_id: isKnown ? toUuid(each.agentId ?? '') : null,
      };
      return { start: requireStart(row, each, at), sharedArtifacts: shared.get(key) ?? [] };
    } catch (failure) {
      if (failure instanceof Problem) return { problem: failure };
      throw failure;
    }
  });
}

function renderPlaceKey({ accountId, projectId, environmentName, versionName }: WantedStart): string {
  return JSON.stringify([accountId, projectId, environmentName, versionName ?? null]);
}

function readPlaces(
  read: Read,
  places: readonly WantedStart[],
  expected: readonly WantedStart[],
  { queuedRuns }: QueueLimit,
  now: Date,
) {
  const names = expected.flatMap((each) => [
    ...Object.keys(each.scalarVariables ?? {}),
    ...Object.keys(each.gridVariables ?? {}),
  ]);
  const namesByPlace = new Map<string, string[]>();
  for (const each of expected) {
    const key = renderPlaceKey(each);
    const names = namesByPlace.get(key) ?? [];
    names.push(each.pipelineName);
    namesByPlace.set(key, names);
  }
  return read(selectPlaces, {
    account_ids: places.map((each) => each.accountId),
    project_ids: places.map((each) => each.projectId),
    environment_names: places.map((each) => each.environmentName),
    version_names: places.map((each) => each.versionName ?? null),
    pipeline_names: places.map((each) => renderNames(namesByPlace.get(renderPlaceKey(each)) ?? [])),
    variable_names: [...new Set(names)],
    queue_limit: queuedRuns,
    now,
  });
}

/** Another account's agent is unknown. */
function renderAgentKey(accountId: string, agentId: string): string {
  return `${accountId} ${agentId}`;
}

/** The keys of the agents that exist. */
async function readAgents(read: Read, expected: readonly WantedStart[]): Promise<ReadonlySet<string>> {
  const named = expected.flatMap(({ accountId, agentId }) =>
    agentId === undefined ? [] : [{ accountId, agentId: toUuid(agentId) }],
  );
  if (named.length === 0) return new Set();
  const byKey = new Map(named.map((each) => [renderAgentKey(each.accountId, each.agentId), each]));
  const distinct = [...byKey.values()];
  const rows = await read(selectAgents, {
    account_ids: distinct.map((each) => each.accountId),
    agent_ids: distinct.map((each) => each.agentId),
  });
  return new Set(rows.map((row) => renderAgentKey(row.account_id, row.agent_id)));
}

/** By the key of the place. Places without shared pipelines need no query. */
async function chooseShared(
  read: Read,
  places: readonly (readonly [string, WantedStart])[],
  rows: ReadonlyMap<string | undefined, PlaceRow>,
): Promise<ReadonlyMap<string, readonly SharedArtifact[]>> {
  const chosen = places.map(async ([key, { accountId }]) => {
    return [key, await chooseVersions(read, { accountId }, rows.get(key)?.uses ?? [])] as const;
  });
  return new Map(await Promise.all(chosen));
}
