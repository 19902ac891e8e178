/** Problems and events of agents. */
import { kind, quoted } from '../problem-kind.ts';
import type { Outcomes } from '../sum-of-outcomes.ts';

export const agentOutcomes = {
  events: [
    'agent-created',
    'agent-updated',
    'agent-deleted',
    'agent-credentials-read',
    'agent-secret-refreshed',
    'agent-command-given',
    'agent-allowlist-updated',
  ],
  problems: {
    'agent-not-found': kind<{ id: string }>(
      404,
      'The account has no such agent.',
      ({ id }) => `There is no agent ${id}.`,
    ),
    'agent-name-taken': kind<{ name: string }>(
      409,
      'Another agent of the account has this name.',
      ({ name }) => `An agent named ${quoted(name)} already exists in this account.`,
    ),
    'agent-not-stopped': kind<{ name: string; status: string }>(
      409,
      'The agent is connected, or was connected a moment ago. Stop its program and try again, or send `force=true` to delete it anyway.',
      ({ name, status }) =>
        `The agent ${quoted(name)} is ${status}; only an agent that is stopped, pending or unknown can be deleted: stop its program first, or send force=true.`,
    ),
    'agent-cannot-restart': kind<{ name: string }>(
      409,
      'No connected instance of the agent can restart itself.',
      ({ name }) =>
        `No instance of the agent ${quoted(name)} is connected that can restart itself: start its program, or restart it by hand.`,
    ),
    'agent-secret-not-kept': kind<{ name: string }>(
      409,
      'The agent was created by a server that did not store agent secrets.',
      ({ name }) =>
        `The secret of the agent ${quoted(name)} was not stored when the agent was created; refresh it with SECRET_REFRESH.`,
    ),
    'paused-until-in-the-past': kind(
      422,
      'The end of the pause is in the past.',
      () => 'body.pausedUntil is in the past.',
    ),
    'unknown-agent': kind<{ id: string }>(
      422,
      'The body names an agent that the account does not have.',
      ({ id }) => `The account has no agent ${quoted(id)}.`,
    ),
  },
} as const satisfies Outcomes;
