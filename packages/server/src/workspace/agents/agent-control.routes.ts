/** Credentials, commands and allowlist of an agent. */
import {
  type AgentAllowlist,
  agentCommandWords,
  agentCredentialActions,
  clearAgentAllowlist,
  commandAgent,
  extendAgentAllowlist,
  getAgentCredentials,
  refreshAgentSecret,
  replaceAgentAllowlist,
} from '@headgate/contract';
import { createEventSource } from '../../kernel/database/events.ts';
import type { Wakes } from '../../kernel/database/wakes.ts';
import type { Endpoints, Outcome, WriteCall } from '../../kernel/endpoint/endpoint.ts';
import { problem } from '../../kernel/http/problems.ts';
import { requireWord } from '../../kernel/http/words.ts';
import { generateSecret, type Sealer } from '../../kernel/security/sealed.ts';
import { updateStatus } from './agent.status.ts';
import { lockAgent } from './agent.store.ts';
import { readAllowlist, writeAllowlist } from './agent-allowlist.store.ts';
import { requestRestart, writePause } from './agent-control.store.ts';
import {
  lockClient,
  openSecret,
  refreshSecret,
  renderSecretWakeKey,
  revokeCertificates,
} from './agent-secret.store.ts';

export function agentControlRoutes(endpoints: Endpoints, services: { sealer: Sealer; wakes: Wakes }): void {
  agentCredentialRoutes(endpoints, services);
  agentCommandRoutes(endpoints, services.wakes);
  allowlistRoutes(endpoints);
}

function agentCredentialRoutes(
  { write }: Endpoints,
  { sealer, wakes }: { sealer: Sealer; wakes: Wakes },
): void {
  // A write, because reading credentials records an event.
  write(getAgentCredentials, async ({ tx, scope, params }) => {
    const client = await lockClient(tx, scope, params.agentId);
    const { client_id: clientId } = client;
    return {
      body: { clientId, clientSecret: openSecret(sealer, client).reveal() },
      events: [{ name: 'agent-credentials-read', subject: buildSubject(client), after: { clientId } }],
    };
  });

  write(refreshAgentSecret, async ({ tx, scope, params, body, now }) => {
    requireWord(agentCredentialActions, body.action, 'action');
    const client = await lockClient(tx, scope, params.agentId);
    const secret = generateSecret();
    const revoked = await revokeCertificates(tx, scope, client.agent_id, now);
    refreshSecret(tx, sealer, scope, client.agent_id, secret);
    tx.afterCommit(() => wakes.wake(renderSecretWakeKey(client.agent_id), 'all'));
    const { client_id: clientId } = client;
    return {
      body: { clientId, clientSecret: secret.reveal() },
      events: [
        { name: 'agent-secret-refreshed', subject: buildSubject(client), after: { clientId } },
        ...revoked.map(
          (before) => ({ name: 'certificate-revoked', subject: buildSubject(client), before }) as const,
        ),
      ],
    };
  });
}

function agentCommandRoutes({ write }: Endpoints, wakes: Wakes): void {
  write(commandAgent, async ({ tx, scope, params, body, now, newId, requestId }) => {
    const command = requireWord(agentCommandWords, body.command, 'command');
    const until = command === 'PAUSE' && body.pausedUntil !== undefined ? new Date(body.pausedUntil) : null;
    if (until !== null && until <= now) throw problem('paused-until-in-the-past');
    const agent = await lockAgent(tx, scope, params.agentId, now);
    const { agent_id: agentId, name } = agent;
    if (command === 'RESTART') {
      const restarting = await requestRestart(tx, scope, agentId, now);
      if (restarting === 0) throw problem('agent-cannot-restart', { name });
    } else {
      writePause(tx, scope, agentId, { paused: command === 'PAUSE', until });
      const source = createEventSource(scope, requestId);
      updateStatus({ tx, source, now, newId }, agentId);
    }
    // Every instance must check: it may be paused, must restart, or can take queued work again.
    tx.afterCommit(() => wakes.wake(agentId, 'all'));
    const after = { command, ...(until === null ? {} : { pausedUntil: until.toISOString() }) };
    return { events: [{ name: 'agent-command-given', subject: buildSubject(agent), after }] };
  });
}

type AllowlistOperation =
  | typeof replaceAgentAllowlist
  | typeof extendAgentAllowlist
  | typeof clearAgentAllowlist;

function allowlistRoutes({ write }: Endpoints): void {
  write(replaceAgentAllowlist, (call) => changeAllowlist(call, () => call.body));
  write(extendAgentAllowlist, (call) =>
    changeAllowlist(call, ({ projects }) => ({ projects: { ...projects, ...call.body.projects } })),
  );
  write(clearAgentAllowlist, (call) => changeAllowlist(call, () => ({ projects: {} })));
}

async function changeAllowlist(
  { tx, scope, params, now }: Pick<WriteCall<AllowlistOperation>, 'tx' | 'scope' | 'params' | 'now'>,
  change: (list: AgentAllowlist) => AgentAllowlist,
): Promise<Outcome<AllowlistOperation>> {
  const agent = await lockAgent(tx, scope, params.agentId, now);
  const before = await readAllowlist(tx, scope, agent.agent_id);
  writeAllowlist(tx, scope, agent.agent_id, change(before));
  const after = await readAllowlist(tx, scope, agent.agent_id);
  return {
    body: after,
    events: [{ name: 'agent-allowlist-updated', subject: buildSubject(agent), before, after }],
  };
}

function buildSubject({ agent_id: id, name }: { agent_id: string; name: string }) {
  return { type: 'agent', id, name };
}
