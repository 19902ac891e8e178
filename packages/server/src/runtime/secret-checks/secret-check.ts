/**
 * The rules of a check, as pure functions: which agent is asked about which secret, and the resulting
 * response.
 *
 * - **planned**: a result without its agent's finding, or a complete one if no agent can be asked.
 * - **part**: what one agent is asked at once.
 */
import {
  type CheckedSecrets,
  checkedSecretLimit,
  type SecretCheck,
  type SecretCheckOutcome,
  type SecretCheckResult,
  type SecretCoordinates,
  secretCheckLimit,
} from '@headgate/contract';
import { findObstacle } from '../../workspace/agents/index.ts';
import { buildCoordinates } from '../../workspace/secret-references/index.ts';
import type { CheckAgentRow, EnvironmentRow, NamedSecretRow } from './check-plan.store.ts';

const toldNames = 10;
const toldEnvironments = 100;

/** A secret and the agent to ask; undefined if there is none. */
interface Asking {
  reference: string | null;
  at: SecretCoordinates;
  agentId: string | undefined;
  environmentNames: Set<string>;
  namedBy: Set<string>;
}

type CheckedSecret = Omit<SecretCheckResult, 'outcome' | 'message'>;
export type Planned = { secret: CheckedSecret } & (
  | { outcome: SecretCheckOutcome; message?: string }
  | { part: string; position: number }
);

export interface Part {
  workId: string;
  agentId: string;
  /** A place on its allowlist, if it has one. */
  environmentName: string | null;
  secrets: SecretCoordinates[];
}

/** All rows that name one secret. */
interface NamedSecret {
  first: NamedSecretRow;
  /** The rows that hold in all environments, and those of overrides. */
  everywhere: NamedSecretRow[];
  overrides: NamedSecretRow[];
}

/**
 * Pairs each secret with each agent that would read it. Builds only the pairs that one check asks, and counts the
 * others: there may be thousands of secrets with hundreds of agents each.
 */
export function pairSecretsWithAgents(
  secrets: readonly NamedSecretRow[],
  environments: readonly EnvironmentRow[],
  onlyAgentId: string | undefined,
): { askings: Asking[]; unchecked: number } {
  const agentOf = new Map(environments.map(({ name, agent_id }) => [name, agent_id ?? undefined]));
  const groups = Map.groupBy(environments, ({ agent_id }) => agent_id ?? undefined);
  const namesOf = new Map([...groups].map(([id, those]) => [id, new Set(those.map(({ name }) => name))]));
  if (environments.length === 0) namesOf.set(undefined, new Set());
  const askings: Asking[] = [];
  let unchecked = 0;
  for (const { first, everywhere, overrides } of groupBySecret(secrets).values()) {
    const named = onlyAgentId ?? first.agent_id ?? undefined;
    const found = new Map<string | undefined, Asking>();
    const reachable = overrides.filter((row) => agentOf.has(row.environment_name ?? ''));
    const agentOfRow = (row: NamedSecretRow) => named ?? agentOf.get(row.environment_name ?? '');
    const ids = new Set(reachable.map(agentOfRow));
    const all = everywhere.length === 0 ? ids : named === undefined ? namesOf : new Set([named]);
    if (askings.length === secretCheckLimit) {
      unchecked += all.size;
      continue;
    }
    const { reference } = first;
    const at = buildCoordinates(first);
    const namedEverywhere = listNames(everywhere);
    for (const agentId of all.keys()) {
      if (askings.length === secretCheckLimit) break;
      const names = everywhere.length > 0 && named === undefined ? namesOf.get(agentId) : undefined;
      const environmentNames = names ?? new Set<string>();
      const asking = { reference, at, agentId, environmentNames, namedBy: new Set(namedEverywhere) };
      found.set(agentId, asking);
      askings.push(asking);
    }
    unchecked += all.size - found.size;
    for (const row of reachable) {
      const asking = found.get(agentOfRow(row));
      if (row.named_by !== null) asking?.namedBy.add(row.named_by);
      if (named === undefined && row.environment_name !== null)
        asking?.environmentNames.add(row.environment_name);
    }
  }
  return { askings, unchecked };
}

function groupBySecret(secrets: readonly NamedSecretRow[]): Map<string, NamedSecret> {
  const bySecret = new Map<string, NamedSecret>();
  for (const row of secrets) {
    const { reference, secretName, secretKey, vaultName, vaultType, provider } = row;
    const key = JSON.stringify([reference, secretName, secretKey, vaultName, vaultType, provider]);
    const secret = bySecret.get(key) ?? { first: row, everywhere: [], overrides: [] };
    (row.environment_name === null ? secret.everywhere : secret.overrides).push(row);
    bySecret.set(key, secret);
  }
  return bySecret;
}

function listNames(rows: readonly NamedSecretRow[]): string[] {
  return rows.flatMap(({ named_by }) => named_by ?? []).slice(0, toldNames);
}

export function planCheck(
  { askings, unchecked }: ReturnType<typeof pairSecretsWithAgents>,
  agents: readonly CheckAgentRow[],
  newId: () => string,
): { planned: Planned[]; parts: Part[]; unchecked: number } {
  const byId = new Map(agents.map((agent) => [agent.agent_id, agent]));
  const parts: Part[] = [];
  const planned = askings.map((asking): Planned => {
    const agent = asking.agentId === undefined ? undefined : byId.get(asking.agentId);
    const secret = describeAsking(asking, agent);
    const reason = findReason(asking, agent);
    if (agent === undefined || reason !== undefined)
      return { secret, ...reason, outcome: reason?.outcome ?? 'NO_AGENT' };
    const part = findPart(parts, agent, newId);
    part.secrets.push(asking.at);
    return { secret, part: part.workId, position: part.secrets.length - 1 };
  });
  return { planned, parts, unchecked };
}

function describeAsking(
  { reference, at, environmentNames, namedBy }: Asking,
  agent: CheckAgentRow | undefined,
): CheckedSecret {
  return {
    ...(reference === null ? {} : { secretReferenceName: reference }),
    namedBy: [...namedBy].slice(0, toldNames),
    ...at,
    environmentNames: listFirst(environmentNames, toldEnvironments),
    ...(agent === undefined ? {} : { agentId: agent.agent_id, agentName: agent.name }),
  };
}

/** Many askings share a set of a thousand names: copying each set whole would take long. */
function listFirst(names: ReadonlySet<string>, most: number): string[] {
  const first: string[] = [];
  for (const name of names) {
    if (first.length === most) break;
    first.push(name);
  }
  return first;
}

const outcomeOf = {
  away: 'AGENT_NOT_CONNECTED',
  old: 'AGENT_TOO_OLD',
  forbidden: 'AGENT_NOT_ALLOWED',
} as const;

/** The reason why the agent cannot be asked; undefined if it can. */
function findReason(
  { at, environmentNames }: Asking,
  agent: CheckAgentRow | undefined,
): { outcome: SecretCheckOutcome; message: string } | undefined {
  if (agent === undefined)
    return { outcome: 'NO_AGENT', message: 'no environment has an agent: give one a default agent' };
  const allowed = isAllowedInOne(agent, environmentNames);
  const obstacle = findObstacle({ ...agent, allowed }, 'for this check');
  if (obstacle === undefined) return describeUngranted(at, agent);
  const message = `the agent ${JSON.stringify(agent.name)} ${obstacle.words}`;
  return { outcome: outcomeOf[obstacle.kind], message };
}

function isAllowedInOne({ restricted, allowed }: CheckAgentRow, names: ReadonlySet<string>): boolean {
  if (!restricted || allowed.includes('')) return true;
  return names.size === 0 ? allowed.length > 0 : allowed.some((each) => names.has(each));
}

function describeUngranted(
  { secretName }: SecretCoordinates,
  { name, ungranted }: CheckAgentRow,
): { outcome: SecretCheckOutcome; message: string } | undefined {
  if (!ungranted.includes(secretName)) return undefined;
  const message = `the project may not use the vault secret ${JSON.stringify(secretName)} with the agent ${JSON.stringify(name)}: a Super Admin or Admin can grant it with vaultAccess of the agent`;
  return { outcome: 'NOT_GRANTED', message };
}

/** The agent's part that has room, or a new one. */
function findPart(parts: Part[], agent: CheckAgentRow, newId: () => string): Part {
  const { agent_id: agentId, restricted, allowed } = agent;
  const last = parts.findLast((part) => part.agentId === agentId);
  if (last !== undefined && last.secrets.length < checkedSecretLimit) return last;
  const environmentName = restricted ? (allowed.find((name) => name !== '') ?? null) : null;
  const part = { workId: newId(), agentId, environmentName, secrets: [] };
  parts.push(part);
  return part;
}

export interface PartEnd {
  state: 'PENDING' | 'ANSWERED' | 'FAILED' | 'FORBIDDEN';
  findings: CheckedSecrets | null;
  message: string | null;
}

/** `ends`: the end of each part, by its work. */
export function composeAnswer(
  planned: readonly Planned[],
  ends: ReadonlyMap<string, PartEnd>,
  unchecked: number,
): SecretCheck {
  const results = planned.map((each): SecretCheckResult => {
    if ('outcome' in each) {
      const { secret, outcome, message } = each;
      return { ...secret, outcome, ...(message === undefined ? {} : { message }) };
    }
    return { ...each.secret, ...findOutcome(ends.get(each.part), each.position) };
  });
  const resolved = unchecked === 0 && results.every(({ outcome }) => outcome === 'RESOLVED');
  return { resolved, results, unchecked };
}

function findOutcome(
  end: PartEnd | undefined,
  position: number,
): { outcome: SecretCheckOutcome; message?: string } {
  const found = end?.findings?.[position];
  if (found !== undefined) {
    const { finding, message } = found;
    return { outcome: finding, ...(message === undefined ? {} : { message }) };
  }
  const outcome = end?.state === 'FORBIDDEN' ? 'AGENT_NOT_ALLOWED' : 'NO_ANSWER';
  return { outcome, message: end?.message ?? 'the agent did not answer in time' };
}
