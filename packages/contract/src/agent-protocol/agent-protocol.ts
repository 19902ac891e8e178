/**
 * The agent protocol, version 1: what an agent and a server say to each other under `/agent/v1`.
 *
 * Terminology
 *   agent      what a customer registered; authenticates with its client id and secret (POST
 *              /oauth/dpc/token) and gets a token for `/agent/v1` only
 *   instance   one running process of an agent, named by an id of its own
 *   work       one thing to do, in the server's table; `workId` names it for ever
 *   claim      an instance takes work; each claim of one work has the next epoch
 *   epoch      the fencing number: a call with an older epoch than the current one is refused and changes
 *              nothing
 *   lease      the time a claim holds without a heartbeat; after it the work is the server's again
 *   shared     shared pipelines are published by group (its prefix) and version; an execution's start chooses
 *              the version for each use of a group, and the work names it until its end, whatever is
 *              published or disabled meanwhile (docs/adr/0019)
 *   command    what the server wants of a holder: `cancel` (end after the running step) or `force-cancel`
 *              (kill it)
 *   agent command  what the server wants of an instance itself: `restart`
 *   ability    what an instance can do: a kind of work, or one of `instanceAbilities`
 *
 * Sequence
 *   hello → (claims: long poll) → reports: started, progress …, completed → goodbye: stopping, then stopped
 *   heartbeats run beside it, every `heartbeatSeconds`, and name all work that the instance holds.
 *
 * Signs of life
 *   - A claim, when it arrives, and a heartbeat say that the instance is there. An instance that holds
 *     nothing is heard of by its claims only: it asks again as soon as it is answered, and a claim is
 *     answered after `claimWaitSeconds` at the latest, whatever it asked for.
 *   - An agent of which no instance is heard of for 13 s is `unknown`; the next sign of life brings it back.
 *     Its work has its own lease.
 *   - `goodbye` with the stage `stopping`: this instance takes no more work, and ends what it holds. With
 *     `stopped`: it is gone. The agent is stopping when all its instances are, and stopped when the last of
 *     them is gone. One that is killed says nothing, and is unknown.
 *
 * Pause and restart
 *   - A paused agent keeps claiming, and is given no work; what it holds goes on. It need not know.
 *   - `agentCommand: restart` is repeated in the answers to claims and heartbeats until the instance is gone,
 *     and it is given no work meanwhile. It says `stopping`, lets what it holds end, however long that takes,
 *     says `stopped`, and ends with the exit code `restartExitCode`, for which whoever started it starts it
 *     again; that one is another instance.
 *
 * Versions
 *   - Hello agrees on a version of the protocol. Within one, what is new is a member that may be missing or
 *     an ability that may not be announced, so either side may be the newer one: an instance is given only
 *     the kinds of work among its `abilities`, and a command only when it announced that it obeys it; an
 *     agent passes over a 404 for a message that its server does not know yet.
 *
 * Rules
 *   - A report is numbered per (workId, epoch), from 1; the server applies a number once, so a report may be
 *     sent again after a lost answer.
 *   - `lost` in a heartbeat's answer, or `stale-epoch` for a report, means that someone else owns the work or
 *     that it ended: kill it, report nothing.
 *   - A step names a run of its own work: the work's id, or the id of a child run that a step of the same
 *     work announced, before or in the same report. Each child run is announced by one step, under an id that
 *     no other run has. Else the report is refused: `run-of-another-work`.
 *   - A work has at most 50,000 steps, and their messages are bounded together: `too-many-steps`. A step ends
 *     no earlier than it starts, and both are near the server's clock: `implausible-time`. With either refusal
 *     the server ends the work: FAILED.
 *   - An agent reads artifacts of its account; one with restricted access those of its allowlist's places,
 *     and those that its held work names.
 *   - Commands are repeated until the work ends: obeying twice is harmless.
 *   - `released` gives work back unharmed; another instance may claim it with the next epoch.
 *   - A server that cannot speak any of `protocolVersions` answers hello with 409
 *     `protocol-version-unsupported`, naming its own.
 *   - `sharedArtifacts` tells each use of shared pipelines that the execution may come to, those of shared
 *     pipelines themselves included, with the digest of the chosen version, or with a `fault`: then a step
 *     that comes to the use fails with it, and nothing else does.
 *   - A `secret-write` names the key that opens it (`keyId`); only the instance whose certificate it is gets
 *     it. It completes with a receipt (secret.ts), or fails with a reason that may be shown. The value's
 *     `jti` is accepted once. `valueFault` says that the fault is in the value itself (it cannot be opened,
 *     or lacks members of its type); a server that does not know this member takes it for a failed write.
 *   - An instance asks for its certificate with a PKCS#10 request, and again before it ends; it keeps the old
 *     key for what may still arrive.
 *   - A `secret-check` asks whether secrets can be read, and completes with `checkedSecrets`; it may be given
 *     to another instance as often as it takes.
 *   - A run that comes to `secret("name")` asks, under the work that it is and its epoch, where the project's
 *     secret reference of this name leads; the instance reads the value from its vault. The server says where
 *     a secret is kept, and never learns what it is.
 *   - Unknown members are ignored on both sides.
 */
import { Type } from 'typebox';
import { operation } from '../operation.ts';
import { OpaqueId } from '../primitives.ts';
import { SecretCoordinates } from '../secret/secret-value.ts';
import { ArtifactManifest } from './artifact-manifest.ts';
import { ClaimRequest, ClaimResponse } from './claim.ts';
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
  summary: 'Say who the agent is, which versions it speaks and what it can do',
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
  summary: 'Claim work; waits for work or a command',
  body: ClaimRequest,
  success: { status: 200, body: ClaimResponse },
  problems: [],
  events: [
    'pipeline-execution-claimed',
    'pipeline-execution-reclaimed',
    'secret-write-claimed',
    'secret-check-claimed',
    'agent-status-changed',
  ],
});

export const agentHeartbeat = operation({
  ...agentOperation,
  id: 'agentHeartbeat',
  method: 'POST',
  path: '/agent/v1/heartbeats',
  summary: 'Keep the leases of the work that the instance holds',
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
  summary: 'Report starts, progress and ends, each fenced by its epoch',
  body: ReportsRequest,
  success: { status: 200, body: ReportsResponse },
  problems: ['concurrent-change'],
  events: [
    'pipeline-execution-started',
    'pipeline-execution-ended',
    'secret-write-ended',
    'secret-check-ended',
  ],
});

export const agentGoodbye = operation({
  ...agentOperation,
  id: 'agentGoodbye',
  method: 'POST',
  path: '/agent/v1/goodbye',
  summary: 'Say that an instance ends in order',
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
  summary: 'Fetch the manifest of an artifact version',
  params: Type.Object({ digest: OpaqueId }),
  success: { status: 200, body: ArtifactManifest },
  problems: ['blob-not-found'],
});

export const agentBlob = operation({
  ...agentOperation,
  id: 'agentBlob',
  method: 'GET',
  path: '/agent/v1/blobs/{sha256}',
  summary: 'Fetch the bytes of one file of an artifact',
  params: Type.Object({ sha256: OpaqueId }),
  success: { status: 200, mediaType: 'application/octet-stream' },
  problems: ['blob-not-found', 'storage-unavailable'],
});

export const agentSecretReference = operation({
  ...agentOperation,
  id: 'agentSecretReference',
  method: 'POST',
  path: '/agent/v1/secret-references',
  summary: 'Look up where a secret is kept that a held run names',
  body: SecretLookup,
  success: { status: 200, body: SecretCoordinates },
  problems: ['work-not-held', 'secret-reference-not-found', 'secret-reference-of-another-agent'],
  withoutEvent: 'it reads a record of the project; what is read from a vault, the vault itself notes',
});

export const agentCertificate = operation({
  ...agentOperation,
  id: 'agentCertificate',
  method: 'POST',
  path: '/agent/v1/certificates',
  summary: 'Get a certificate for the key of an instance',
  body: CertificateRequest,
  success: { status: 201, body: IssuedCertificate },
  problems: ['certificate-request-refused'],
  events: ['certificate-issued'],
});

export const agentProtocolOperations = [
  agentHello,
  agentClaim,
  agentHeartbeat,
  agentReport,
  agentGoodbye,
  agentArtifact,
  agentBlob,
  agentCertificate,
  agentSecretReference,
] as const;
