/**
 * The agent protocol, version 1: the messages between agents and servers under `/agent/v1`.
 *
 * Terminology
 *   agent      registered by a customer; gets a token for `/agent/v1` with its client id and secret
 *              (POST /oauth/dpc/token)
 *   instance   a running process of an agent, with an id of its own
 *   work       one thing to do, a row in the server's database, identified by `workId`
 *   claim      an instance takes work; each claim of the same work has the next epoch
 *   epoch      the fencing number: a call with an old epoch is refused and changes nothing
 *   lease      how long a claim is valid without a heartbeat; then the server can give the work away again
 *   shared     shared pipelines are published by group (its prefix) and version. The version for each use is
 *              chosen when the execution starts, and does not change until it ends (docs/adr/0019)
 *   command    an instruction for work that is held: `cancel` (stop after the running step) or `force-cancel`
 *              (kill the process)
 *   agent command  an instruction for an instance itself: `restart`
 *   ability    what an instance can do: a kind of work, or one of `instanceAbilities`
 *
 * Sequence
 *   hello → (claims: long poll) → reports: started, progress …, completed → goodbye: stopping, then stopped
 *   Heartbeats run at the same time, every `heartbeatSeconds`, and list all work that the instance holds.
 *
 * Presence
 *   - The arrival of a claim, and a heartbeat, show that the instance is running. An instance that holds no
 *     work sends claims only: it sends the next one as soon as it has a response, and the server responds
 *     after at most `claimWaitSeconds`.
 *   - An agent becomes `unknown` when no instance of it has been present for 13 s, and recovers with the next
 *     claim or heartbeat. Its work has its own lease.
 *   - `goodbye` with the stage `stopping`: the instance takes no more work and finishes what it holds. With
 *     `stopped`: it has stopped. The agent is stopping when all its instances are, and stopped when the last
 *     one has stopped. An instance that is killed sends nothing, and its agent becomes unknown.
 *
 * Pause and restart
 *   - A paused agent continues to send claims and gets no work; the work that it holds continues. The agent
 *     does not need to know that it is paused.
 *   - `agentCommand: restart` is repeated in the responses to claims and heartbeats until the instance has
 *     stopped, and the instance gets no work meanwhile. It sends `stopping`, finishes the work that it holds,
 *     sends `stopped`, and exits with `restartExitCode`, so that its supervisor starts it again as another
 *     instance.
 *
 * Versions
 *   - Hello agrees on a version of the protocol. Within one version, additions are optional members or new
 *     abilities, so either side can be the newer one: an instance gets only the kinds of work, and only the
 *     commands, among its `abilities`. An agent ignores a 404 for a message that its server does not know.
 *
 * Rules
 *   - A report is numbered per (workId, epoch), from 1. The server applies each number once, so an agent can
 *     send a report again if it gets no response.
 *   - `lost` in the response to a heartbeat, or `stale-epoch` for a report, means that the work was claimed
 *     again or has ended: stop it and send no more reports.
 *   - A step names a run of its own work: the work's id, or the id of a child run that a step of the same
 *     work announced, before or in the same report. Each child run is announced by one step, with an id that
 *     no other run has. Otherwise the report is refused: `run-of-another-work`.
 *   - A work has at most 50,000 steps, and the total size of their messages is limited: `too-many-steps`. A
 *     step does not end before it starts, and both times are near the server's clock: `implausible-time`.
 *     Either refusal ends the work as FAILED.
 *   - An agent can read the artifacts of its account. One with restricted access can read those of the
 *     projects and environments in its allowlist, and those of the work that it holds.
 *   - An instance has places for runs and for short work (a request waits for it). Hello names both; a claim
 *     asks for each, and an instance may have two claims open, one for each. One environment gets only its share
 *     of the places of all instances (docs/adr/0077). `environmentShare` of a work is that share; the agent
 *     keeps it for its own places, such as those of scripts. Without `shortConcurrency` and `maxShort`, short
 *     work takes places for runs.
 *   - Commands are repeated until the work ends; obeying one twice has no effect.
 *   - `released` returns work that has not started; another instance can claim it with the next epoch.
 *   - A server that supports none of `protocolVersions` answers hello with 409
 *     `protocol-version-unsupported`, which names its own version.
 *   - `sharedArtifacts` lists each use of shared pipelines that the execution can reach, including uses by
 *     shared pipelines, with the digest of the chosen version or with a `fault`. A step that reaches a use
 *     with a fault fails with it.
 *   - A `secret-write` names the key that opens it (`keyId`); only the instance with that key gets it. It
 *     completes with a receipt (secret/secret-value.ts), or fails with a reason for the caller. The `jti` of
 *     a value is accepted once. `valueFault` means that the value itself is at fault (it cannot be opened, or
 *     lacks members of its type); a server that does not know this member treats it as a failed write.
 *   - An instance requests its certificate with a PKCS#10 request, and again before it expires. It keeps the
 *     old key for values that are still on their way.
 *   - A `secret-check` asks whether secrets can be read, and completes with `checkedSecrets`. It can be given
 *     to another instance any number of times.
 *   - A `warehouse-query` is one query that can change nothing, which the warehouse enforces. It completes with
 *     `queryResult`. It can be given to another instance any number of times.
 *   - A run that evaluates `secret("name")` asks the server, with its work and epoch, for the project's secret
 *     reference of this name; the instance reads the value from its vault. The server knows where a secret is
 *     stored, and never its value.
 *   - Lines of the log are numbered in the order in which the run prints them, and sent with a report of
 *     steps. A line of a step that the server does not know is not kept. Variables are sent once for each
 *     pipeline of the run.
 *   - `lineage` is what steps that succeeded read and wrote, sent once for each step, with the report that says that
 *     the step succeeded or an earlier one: the end of a pipeline has the lineage that arrived before. Repeated lineage
 *     of a step counts once.
 *   - `restart` of a step is what a restart of the execution needs to know of it. `restart` of claimed work is
 *     the plan of such a restart; only an instance with the ability `restarted-execution` gets it.
 *   - `schedule` of an execution is the schedule that it is a run of, with its logical time: `sysvar.schedule`.
 *   - A `connector-test` sends one request of an endpoint, and completes with `connectorTest`. A
 *     `connector-authorization` exchanges the code of an authorization; `POST /agent/v1/connector-oauths` with
 *     that work gives the code once more as long as the work is held. Tokens go to the agent's vault only.
 *   - `warehouse.connection` of claimed work is the connection of its environment, with the overrides in place. Secrets
 *     in it are names of secret references, which the instance reads like those of a run. A `connection-test` signs
 *     in by such a connection, and completes with `connectionTest`. It refuses a database of the cluster that hello
 *     names.
 *   - A run or test that uses an OAuth configuration asks the server for it by name. The instance that could
 *     not get a token reports why, and the configuration shows it.
 *   - `generation` of claimed work names the data of its environment: one that was deleted and created again has
 *     another one. Only an instance with the ability `environment-generations` gets work of one above 1. Each instance
 *     asks `POST /agent/v1/deleted-environments` from time to time, and deletes the data that it has of those.
 *   - Both sides ignore unknown members.
 */
import { Type } from 'typebox';
import { operation } from '../operation.ts';
import { OpaqueId } from '../primitives.ts';
import { SecretCoordinates } from '../secret/secret-value.ts';
import { ArtifactManifest } from './artifact-manifest.ts';
import { ClaimRequest, ClaimResponse } from './claim.ts';
import { ConnectorOauthLookup, ConnectorOauthPlan, ConnectorOauthProblemReport } from './connector-work.ts';
import { DeletedEnvironments, DeletedEnvironmentsRequest } from './deleted-environments.ts';
import { CertificateRequest, IssuedCertificate } from './instance-certificate.ts';
import {
  GoodbyeRequest,
  GoodbyeResponse,
  HeartbeatRequest,
  HeartbeatResponse,
  HelloRequest,
  HelloResponse,
} from './presence.ts';
import { ReportsRequest, ReportsResponse } from './report.ts';
import { SecretLookup } from './secret-lookup.ts';

const agentOperation = { surface: 'agent', tag: 'Agent protocol', events: [] } as const;

export const agentHello = operation({
  ...agentOperation,
  id: 'agentHello',
  method: 'POST',
  path: '/agent/v1/hello',
  summary: 'Introduce an instance',
  description: 'The instance sends its versions of the protocol and its abilities.',
  body: HelloRequest,
  success: { status: 200, body: HelloResponse },
  problems: ['protocol-version-unsupported'],
  events: ['agent-connected', 'agent-status-changed'],
});

export const agentClaim = operation({
  ...agentOperation,
  id: 'agentClaim',
  method: 'POST',
  path: '/agent/v1/claims',
  summary: 'Claim work',
  description: 'Waits for work or a command.',
  body: ClaimRequest,
  success: { status: 200, body: ClaimResponse },
  problems: [],
  events: [
    'pipeline-execution-claimed',
    'pipeline-execution-reclaimed',
    'test-execution-claimed',
    'test-execution-reclaimed',
    'warehouse-query-claimed',
    'secret-write-claimed',
    'secret-check-claimed',
    'connector-test-claimed',
    'connection-test-claimed',
    'connector-authorization-claimed',
    'agent-status-changed',
  ],
});

export const agentHeartbeat = operation({
  ...agentOperation,
  id: 'agentHeartbeat',
  method: 'POST',
  path: '/agent/v1/heartbeats',
  summary: 'Renew the leases of held work',
  body: HeartbeatRequest,
  success: { status: 200, body: HeartbeatResponse },
  problems: [],
  withoutEvent:
    'a sign of life changes nothing that a person would look up, unless the agent was thought silent: agent-status-changed',
});

export const agentReport = operation({
  ...agentOperation,
  id: 'agentReport',
  method: 'POST',
  path: '/agent/v1/reports',
  summary: 'Report the start, progress and end of work',
  body: ReportsRequest,
  success: { status: 200, body: ReportsResponse },
  problems: ['concurrent-change'],
  events: [
    'pipeline-execution-started',
    'pipeline-execution-ended',
    'lineage-recorded',
    'test-execution-started',
    'test-execution-ended',
    'secret-write-ended',
    'secret-check-ended',
    'connector-test-ended',
    'connection-test-ended',
    'connector-authorization-ended',
  ],
});

export const agentGoodbye = operation({
  ...agentOperation,
  id: 'agentGoodbye',
  method: 'POST',
  path: '/agent/v1/goodbye',
  summary: 'Announce that an instance stops',
  body: GoodbyeRequest,
  success: { status: 200, body: GoodbyeResponse },
  problems: [],
  events: ['agent-goodbye', 'agent-status-changed'],
});

export const agentArtifact = operation({
  ...agentOperation,
  id: 'agentArtifact',
  method: 'GET',
  path: '/agent/v1/artifacts/{digest}',
  summary: 'Get the manifest of an artifact version',
  params: Type.Object({ digest: OpaqueId }),
  success: { status: 200, body: ArtifactManifest },
  problems: ['blob-not-found'],
});

export const agentBlob = operation({
  ...agentOperation,
  id: 'agentBlob',
  method: 'GET',
  path: '/agent/v1/blobs/{sha256}',
  summary: 'Download a file of an artifact version',
  params: Type.Object({ sha256: OpaqueId }),
  success: { status: 200, mediaType: 'application/octet-stream' },
  problems: ['blob-not-found', 'storage-unavailable'],
});

export const agentSecretReference = operation({
  ...agentOperation,
  id: 'agentSecretReference',
  method: 'POST',
  path: '/agent/v1/secret-references',
  summary: 'Look up a secret reference',
  body: SecretLookup,
  success: { status: 200, body: SecretCoordinates },
  problems: [
    'work-not-held',
    'secret-reference-not-found',
    'secret-reference-of-another-agent',
    'cloud-connection-not-found',
    'several-cloud-connections',
    'vault-name-not-granted-to-run',
  ],
  withoutEvent: 'it reads a record of the project; what is read from a vault, the vault itself notes',
});

export const agentConnectorOauth = operation({
  ...agentOperation,
  id: 'agentConnectorOauth',
  method: 'POST',
  path: '/agent/v1/connector-oauths',
  summary: 'Look up an OAuth configuration',
  body: ConnectorOauthLookup,
  success: { status: 200, body: ConnectorOauthPlan },
  problems: [
    'work-not-held',
    'connector-oauth-not-found',
    'connector-oauth-pending',
    'secret-reference-of-another-agent',
    'vault-name-not-granted-to-run',
  ],
  withoutEvent: 'it reads a record of the project',
});

export const agentConnectorOauthProblem = operation({
  ...agentOperation,
  id: 'agentConnectorOauthProblem',
  method: 'POST',
  path: '/agent/v1/connector-oauth-problems',
  summary: 'Report why an OAuth configuration gives no tokens',
  body: ConnectorOauthProblemReport,
  success: { status: 204 },
  problems: ['work-not-held', 'connector-oauth-not-found'],
  events: ['connector-oauth-problem-changed'],
});

export const agentCertificate = operation({
  ...agentOperation,
  id: 'agentCertificate',
  method: 'POST',
  path: '/agent/v1/certificates',
  summary: 'Request a certificate for an instance',
  body: CertificateRequest,
  success: { status: 201, body: IssuedCertificate },
  problems: ['certificate-request-refused'],
  events: ['certificate-issued'],
});

export const agentDeletedEnvironments = operation({
  ...agentOperation,
  id: 'agentDeletedEnvironments',
  method: 'POST',
  path: '/agent/v1/deleted-environments',
  summary: 'Look up deleted environments',
  description: 'Sorted by project and name.',
  body: DeletedEnvironmentsRequest,
  success: { status: 200, body: DeletedEnvironments },
  problems: [],
  withoutEvent: 'it reads; the deletion of an environment is an event of its own',
});

export const agentProtocolOperations = [
  agentHello,
  agentClaim,
  agentHeartbeat,
  agentReport,
  agentGoodbye,
  agentArtifact,
  agentBlob,
  agentDeletedEnvironments,
  agentCertificate,
  agentSecretReference,
  agentConnectorOauth,
  agentConnectorOauthProblem,
] as const;
