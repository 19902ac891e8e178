/** Which agents can answer a request that waits for them. */
import type { ColumnTypes } from '../../kernel/database/database.ts';
import { hasLiveInstance } from './agent.status.ts';

export const answeringColumns = {
  paused: 'boolean?',
  connected: 'boolean',
  /** Whether a connected instance supports this kind of work. */
  able: 'boolean',
} satisfies ColumnTypes;

export interface AnsweringAgent {
  paused: boolean | null;
  connected: boolean;
  able: boolean;
  /** Whether its allowlist, if it has one, includes the place. */
  allowed: boolean;
}

/** SQL: `answeringColumns` of the agent `a`. */
export const answeringOf = (
  kind: string,
) => `a.paused, ${hasLiveInstance('$now', 'not i.stopping')} as connected,
    ${hasLiveInstance('$now', `not i.stopping and not i.restart_requested and '${kind}' = any (i.abilities)`)} as able`;

/** SQL: whether the agent `a` may work in the environment of the parameters. */
export const allowedInEnvironment = `(a.restricted_access is not true or exists (
      select from agent_allowed_place p
      where p.account_id = $account_id and p.agent_id = a.agent_id and p.project_id = $project_id
        and (p.environment_name is null or p.environment_name = $environment_name)))`;

export interface Obstacle {
  kind: 'away' | 'old' | 'forbidden';
  /** Follows the name of the agent. */
  words: string;
}

/** @param purpose continues "is too old": `to test connectors` */
export function findObstacle(agent: AnsweringAgent, purpose: string): Obstacle | undefined {
  if (!agent.connected) return { kind: 'away', words: 'is not connected: start it' };
  if (agent.paused) return { kind: 'away', words: 'is paused: resume it' };
  if (!agent.able) return { kind: 'old', words: `is too old ${purpose}: upgrade it` };
  if (agent.allowed) return undefined;
  return {
    kind: 'forbidden',
    words: 'is restricted, and its allowlist does not include this project and environment',
  };
}
