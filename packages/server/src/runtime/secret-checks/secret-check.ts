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
import { buildCoordinates } from '../../workspace/secret-references/index.ts';
import type { AskedAgentRow, EnvironmentRow, NamedSecretRow } from './secret-check.asked.ts';

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

type Told = Omit<SecretCheckResult, 'outcome' | 'message'>;
export type Planned = { told: Told } & (
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

/** Pairs each secret with each agent that would read it. */
export function pairSecretsWithAgents(
  secrets: readonly NamedSecretRow[],
  environments: readonly EnvironmentRow[],
  onlyAgentId: string | undefined,
): Asking[] {
  const askings = new Map<string, Asking>();
  for (const secret of secrets) {
    const at = buildCoordinates(secret);
    for (const [agentId, names] of findAgents(secret, environments, onlyAgentId)) {
      const key = JSON.stringify([secret.reference, at, agentId]);
      const { reference } = secret;
      const empty = {
        reference,
        at,
        agentId,
        environmentNames: new Set<string>(),
        namedBy: new Set<string>(),
      };
      const asking = askings.get(key) ?? empty;
      for (const name of names) asking.environmentNames.add(name);
      if (secret.named_by !== null) asking.namedBy.add(secret.named_by);
      askings.set(key, asking);
    }
  }
  return [...askings.values()];
}

function findAgents(
  secret: NamedSecretRow,
  environments: readonly EnvironmentRow[],
  onlyAgentId: string | undefined,
): [agentId: string | undefined, environmentNames: string[]][] {
  const named = onlyAgentId ?? secret.agent_id ?? undefined;
  const own = secret.environment_name;
  const where = own === null ? environments : environments.filter(({ name }) => name === own);
  if (named !== undefined) return own === null || where.length > 0 ? [[named, []]] : [];
  if (own === null && where.length === 0) return [[undefined, []]];
  const byAgent = Map.groupBy(where, (environment) => environment.agent_id ?? undefined);
  return [...byAgent].map(([agentId, those]) => [agentId, those.map(({ name }) => name)]);
}

export function planCheck(
  askings: readonly Asking[],
  agents: readonly AskedAgentRow[],
  newId: () => string,
): { planned: Planned[]; parts: Part[]; unchecked: number } {
  const byId = new Map(agents.map((agent) => [agent.agent_id, agent]));
  const parts: Part[] = [];
  const planned = askings.slice(0, secretCheckLimit).map((asking): Planned => {
    const agent = asking.agentId === undefined ? undefined : byId.get(asking.agentId);
    const told = describeAsking(asking, agent);
    const obstacle = findObstacle(asking, agent);
    if (agent === undefined || obstacle !== undefined)
      return { told, ...obstacle, outcome: obstacle?.outcome ?? 'NO_AGENT' };
    const part = findPart(parts, agent, newId);
    part.secrets.push(asking.at);
    return { told, part: part.workId, position: part.secrets.length - 1 };
  });
  return { planned, parts, unchecked: askings.length - planned.length };
}

function describeAsking(
  { reference, at, environmentNames, namedBy }: Asking,
  agent: AskedAgentRow | undefined,
): Told {
  return {
    ...(reference === null ? {} : { secretReferenceName: reference }),
    namedBy: [...namedBy].slice(0, toldNames),
    ...at,
    environmentNames: [...environmentNames].slice(0, toldEnvironments),
    ...(agent === undefined ? {} : { agentId: agent.agent_id, agentName: agent.name }),
  };
}

/** The reason why the agent cannot be asked; undefined if it can. */
function findObstacle(
  { at, environmentNames }: Asking,
  agent: AskedAgentRow | undefined,
): { outcome: SecretCheckOutcome; message: string } | undefined {
  if (agent === undefined)
    return { outcome: 'NO_AGENT', message: 'no environment has an agent: give one a default agent' };
  const name = `the agent ${JSON.stringify(agent.name)}`;
  if (!agent.connected || agent.paused) {
    const why = agent.connected ? 'is paused: resume it' : 'is not connected: start it';
    return { outcome: 'AGENT_NOT_CONNECTED', message: `${name} ${why}` };
  }
  if (!agent.able)
    return { outcome: 'AGENT_TOO_OLD', message: `${name} is too old for this check: upgrade it` };
  const { restricted, allowed } = agent;
  const isAllowed =
    !restricted ||
    allowed.includes('') ||
    (environmentNames.size === 0 ? allowed.length > 0 : allowed.some((each) => environmentNames.has(each)));
  if (isAllowed) return describeUngranted(at, agent);
  const message = `${name} is restricted, and its allowlist does not include this project and environment`;
  return { outcome: 'AGENT_NOT_ALLOWED', message };
}

function describeUngranted(
  { secretName }: SecretCoordinates,
  { name, ungranted }: AskedAgentRow,
): { outcome: SecretCheckOutcome; message: string } | undefined {
  if (!ungranted.includes(secretName)) return undefined;
  const message = `the project may not use the vault secret ${JSON.stringify(secretName)} with the agent ${JSON.stringify(name)}: a Super Admin or Admin can grant it with vaultAccess of the agent`;
  return { outcome: 'NOT_GRANTED', message };
}

/** The agent's part that has room, or a new one. */
function findPart(parts: Part[], agent: AskedAgentRow, newId: () => string): Part {
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
      const { told, outcome, message } = each;
      return { ...told, outcome, ...(message === undefined ? {} : { message }) };
    }
    return { ...each.told, ...findOutcome(ends.get(each.part), each.position) };
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
