/** Problems and events of agents. */
import { kind, quoted } from '../outcomes/problem-kind.ts';
import type { Outcomes } from '../outcomes/sum-of-outcomes.ts';

export const agentOutcomes = {
  events: [
    'agent-created',
    'agent-updated',
    'agent-deleted',
    'agent-credentials-read',
    'agent-secret-refreshed',
    'agent-command-given',
    'agent-allowlist-updated',
    'agent-vault-access-updated',
    'vault-names-granted',
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
    'vault-name-not-granted': kind<{
      names: readonly string[];
      projectId: string;
      granted: readonly string[];
      more: number;
    }>(
      403,
      'The project may not use this name in the vaults of the agent. Callers who may manage agents can grant names to projects.',
      ({ names, projectId, granted, more }) =>
        `The project may not use the vault secret ${names.map(quoted).join(', ')}. ` +
        `It may use names that begin with ${quoted(`${projectId}/`)} or ${quoted(`${projectId}-`)}` +
        (granted.length === 0
          ? ', and no others. '
          : `, and ${granted.map(quoted).join(', ')}${more === 0 ? '' : ` and ${more} more`}. `) +
        'Use such a name, or ask a Super Admin or Admin of the account to send this request, or to grant the name with `vaultAccess` of the agent.',
    ),
    'too-many-vault-names': kind<{ limit: number }>(
      409,
      'The project has the largest number of granted vault names. Grant a prefix instead.',
      ({ limit }) =>
        `The project has ${limit} granted vault names, which is the limit: remove some with \`vaultAccess\` of the agent, or grant a prefix such as "shared/" instead.`,
    ),
    'unknown-agent': kind<{ id: string }>(
      422,
      'The body names an agent that the account does not have.',
      ({ id }) => `The account has no agent ${quoted(id)}.`,
    ),
  },
} as const satisfies Outcomes;
