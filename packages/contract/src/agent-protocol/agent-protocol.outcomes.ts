/** Problems and events of the agent protocol. */
import { kind, quoted } from '../outcomes/problem-kind.ts';
import type { Outcomes } from '../outcomes/sum-of-outcomes.ts';

export const agentProtocolOutcomes = {
  events: [
    'agent-connected',
    'agent-goodbye',
    'agent-status-changed',
    'certificate-issued',
    'certificate-revoked',
  ],
  problems: {
    'protocol-version-unsupported': kind<{ supported: number }>(
      409,
      'The agent and this server have no version of the agent protocol in common.',
      ({ supported }) =>
        `This server speaks version ${supported} of the agent protocol; install an agent that speaks it.`,
    ),
    'work-not-held': kind<{ id: string; epoch: number }>(
      409,
      'The work was claimed again, or it has ended.',
      ({ id, epoch }) => `This instance does not hold the work ${id} in the epoch ${epoch}.`,
    ),
    'blob-not-found': kind<{ digest: string }>(
      404,
      'None of the work that the agent holds needs this content.',
      ({ digest }) => `There is no content ${digest} that this agent may fetch.`,
    ),
    'vault-name-not-granted-to-run': kind<{ name: string; secretName: string }>(
      409,
      'The project may not use the vault secret of the reference in the vaults of this agent.',
      ({ name, secretName }) =>
        `The secret reference ${quoted(name)} is for the vault secret ${quoted(secretName)}, which the project may not use in the vaults of this agent. A Super Admin or Admin can grant it with \`vaultAccess\` of the agent.`,
    ),
    'cloud-connection-not-found': kind<{ cloud: string }>(
      404,
      'The project has no connection to the cloud that names a secret.',
      ({ cloud }) =>
        `The project has no connection of the type CLOUD_PLATFORM_CREDENTIALS to ${cloud} that names a secret: create one.`,
    ),
    'several-cloud-connections': kind<{ cloud: string }>(
      409,
      'The project has several connections to the cloud.',
      ({ cloud }) =>
        `The project has several connections of the type CLOUD_PLATFORM_CREDENTIALS to ${cloud}: name a secret reference in \`credentials\` of the component.`,
    ),
    'secret-reference-of-another-agent': kind<{ name: string; agent: string }>(
      409,
      'The secret reference names an agent, and the run is on a different one.',
      ({ name, agent }) =>
        `The secret reference ${quoted(name)} is for the agent ${quoted(agent)} only: run the pipeline there, or create the reference without an agentId.`,
    ),
    'certificate-request-refused': kind<{ reason: string }>(
      422,
      'The certificate request is not signed by its own key, or the key has an unsupported type.',
      ({ reason }) => `The certificate request is refused: ${reason}.`,
    ),
  },
} as const satisfies Outcomes;
