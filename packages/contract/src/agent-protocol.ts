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
import { type Static, Type } from 'typebox';
import { agentStatuses } from './agent.ts';
import { operation } from './operation.ts';
import { DateTime, EnvironmentName, mapOf, Name, OpaqueId, oneOf, Uuid } from './primitives.ts';
import { receiptLimit, SecretCoordinates, SecretWriteWork } from './secret.ts';
import { CheckedSecrets, SecretCheckWork } from './secret-check.ts';
import { SecretReferenceName } from './secret-reference.ts';
import {
  GridRow,
  NumberValue,
  TextValue,
  VariableValue,
  variableBehaviours,
  variableTypes,
} from './variable-value.ts';

export const agentProtocolVersion = 1;
export const claimLimit = 100;
export const claimWaitLimitSeconds = 25;
export const reportLimit = 200;

export const workKinds = ['pipeline-execution', 'secret-write', 'secret-check'] as const;
export type WorkKind = (typeof workKinds)[number];

/** What an instance may be able to do beside kinds of work: `restart`, obeying the command. */
export const instanceAbilities = ['restart'] as const;
/** Of an agent that was told to restart (EX_TEMPFAIL of sysexits.h): to be started again. */
export const restartExitCode = 75;

/**
 * A line of JSON on the standard input of an agent that ends with it: what the program that started it has to
 * say.
 */
export interface ParentMessage {
  /** In place of the one before, which was refreshed. */
  clientSecret: string;
}

export const HelloRequest = Type.Object({
  protocolVersions: Type.Array(Type.Integer({ minimum: 1 }), { minItems: 1, maxItems: 20 }),
  agentVersion: Type.String({ minLength: 1, maxLength: 50 }),
  instanceId: Uuid,
  abilities: Type.Array(Type.String({ minLength: 1, maxLength: 100 }), { maxItems: 100 }),
  concurrency: Type.Integer({ minimum: 1, maximum: 10_000 }),
});
export type HelloRequest = Static<typeof HelloRequest>;

export const HelloResponse = Type.Object({
  protocolVersion: Type.Integer({ minimum: 1 }),
  agentId: Uuid,
  name: Type.String({ maxLength: 255 }),
  serverVersion: Type.String({ maxLength: 50 }),
  heartbeatSeconds: Type.Integer({ minimum: 1 }),
  leaseSeconds: Type.Integer({ minimum: 1 }),
  claimWaitSeconds: Type.Integer({ minimum: 0, maximum: claimWaitLimitSeconds }),
});
export type HelloResponse = Static<typeof HelloResponse>;

/** The warehouses of projects (project.ts), in the protocol's words. */
export const warehouseKinds = ['duckdb', 'snowflake', 'redshift', 'postgres'] as const;

export const ProjectVariable = Type.Object({
  name: Name,
  type: oneOf(variableTypes),
  behaviour: oneOf(variableBehaviours),
  value: Type.Optional(VariableValue),
});
/**
 * A variable of the project as the run sees it: with the environment's override already in place; a NUMBER
 * that was never set has no value.
 */
export type ProjectVariable = Static<typeof ProjectVariable>;

const ArtifactDigest = Type.String({
  minLength: 64,
  maxLength: 64,
  description: 'SHA-256 of the manifest, in hexadecimal',
});

export const sharedArtifactLimit = 100;

/** Pipeline files of a version that are told to an agent, and characters of each reason. */
export const ignoredPipelineLimit = 100;
export const ignoredReasonLimit = 500;

export const IgnoredPipeline = Type.Object({
  path: Type.String({ minLength: 1, maxLength: 1_024 }),
  reason: Type.String({ maxLength: ignoredReasonLimit }),
  line: Type.Optional(
    Type.Integer({ minimum: 1, description: 'Absent: of an earlier version of the server' }),
  ),
});
/** A pipeline file that its upload left out of the version, since it cannot be read. */
export type IgnoredPipeline = Static<typeof IgnoredPipeline>;
const IgnoredPipelines = Type.Optional(Type.Array(IgnoredPipeline, { maxItems: ignoredPipelineLimit }));

export const SharedArtifact = Type.Object({
  sharedPipelineIdPrefix: Name,
  requestedVersionName: Type.Optional(
    Type.String({ minLength: 1, maxLength: 255, description: 'Absent: the latest enabled version' }),
  ),
  versionName: Type.Optional(Name),
  artifactDigest: Type.Optional(ArtifactDigest),
  fault: Type.Optional(
    Type.String({ maxLength: 2_000, description: 'Why there is no version for the use, and what to do' }),
  ),
  ignoredPipelines: IgnoredPipelines,
});
/** What was chosen for a use of shared pipelines: `versionName` and `artifactDigest`, or a `fault`. */
export type SharedArtifact = Static<typeof SharedArtifact>;

export const PipelineExecutionWork = Type.Object({
  pipelineExecutionId: Uuid,
  projectId: Uuid,
  environmentName: EnvironmentName,
  pipelineName: Type.String({ minLength: 1, maxLength: 1_024 }),
  pipelineType: oneOf(['ORCHESTRATION', 'TRANSFORMATION']),
  versionName: Name,
  artifactDigest: ArtifactDigest,
  ignoredPipelines: IgnoredPipelines,
  sharedArtifacts: Type.Optional(Type.Array(SharedArtifact, { maxItems: sharedArtifactLimit })),
  variables: Type.Array(ProjectVariable, { maxItems: 10_000 }),
  scalarVariables: mapOf(Type.Union([TextValue, NumberValue]), { maxProperties: 500 }),
  gridVariables: mapOf(Type.Array(GridRow, { maxItems: 10_000 }), { maxProperties: 100 }),
  timeLimitSeconds: Type.Integer({ minimum: 1 }),
  warehouse: Type.Object({
    kind: oneOf(warehouseKinds, {
      description:
        'The warehouse of the project. An agent runs nothing in another one, and refuses a kind that it does not know',
    }),
  }),
});
export type PipelineExecutionWork = Static<typeof PipelineExecutionWork>;

const claimedWork = { workId: Uuid, epoch: Type.Integer({ minimum: 1 }), leaseExpiresAt: DateTime };
export const WorkItem = Type.Union([
  Type.Object({
    ...claimedWork,
    kind: Type.Literal('pipeline-execution'),
    payload: PipelineExecutionWork,
  }),
  Type.Object({ ...claimedWork, kind: Type.Literal('secret-write'), payload: SecretWriteWork }),
  Type.Object({ ...claimedWork, kind: Type.Literal('secret-check'), payload: SecretCheckWork }),
]);
export type WorkItem = Static<typeof WorkItem>;
/** Work of one kind. */
export type WorkOf<Kind extends WorkKind> = Extract<WorkItem, { kind: Kind }>;

export const workCommands = ['cancel', 'force-cancel'] as const;
export type WorkCommand = (typeof workCommands)[number];
export const Command = Type.Object({
  workId: Uuid,
  epoch: Type.Integer({ minimum: 1 }),
  command: oneOf(workCommands),
});
export type Command = Static<typeof Command>;

export const agentCommands = ['restart'] as const;
export type AgentCommand = (typeof agentCommands)[number];

export const ClaimRequest = Type.Object({
  instanceId: Uuid,
  max: Type.Integer({
    minimum: 0,
    maximum: claimLimit,
    description: 'Free places; 0 waits for commands only',
  }),
  waitSeconds: Type.Integer({ minimum: 0, maximum: claimWaitLimitSeconds }),
});
export type ClaimRequest = Static<typeof ClaimRequest>;

export const ClaimResponse = Type.Object({
  work: Type.Array(WorkItem, { maxItems: claimLimit }),
  commands: Type.Array(Command, { maxItems: 1_000 }),
  agentCommand: Type.Optional(oneOf(agentCommands)),
});
export type ClaimResponse = Static<typeof ClaimResponse>;

const Holding = { workId: Uuid, epoch: Type.Integer({ minimum: 1 }) };

export const HeartbeatRequest = Type.Object({
  instanceId: Uuid,
  held: Type.Array(Type.Object(Holding), { maxItems: 1_000 }),
});
export type HeartbeatRequest = Static<typeof HeartbeatRequest>;

export const HeartbeatResponse = Type.Object({
  held: Type.Array(
    Type.Object({ ...Holding, state: oneOf(['held', 'lost']), command: Type.Optional(oneOf(workCommands)) }),
    { maxItems: 1_000 },
  ),
  agentCommand: Type.Optional(oneOf(agentCommands)),
});
export type HeartbeatResponse = Static<typeof HeartbeatResponse>;

export const goodbyeStages = ['stopping', 'stopped'] as const;
export type GoodbyeStage = (typeof goodbyeStages)[number];

export const GoodbyeRequest = Type.Object({ instanceId: Uuid, stage: oneOf(goodbyeStages) });
export type GoodbyeRequest = Static<typeof GoodbyeRequest>;

export const GoodbyeResponse = Type.Object({
  agentStatus: oneOf(agentStatuses, { description: 'Of the agent, whose other instances may go on' }),
});
export type GoodbyeResponse = Static<typeof GoodbyeResponse>;

export const stepStatuses = ['RUNNING', 'SUCCESS', 'FAILED', 'CANCELLED', 'SKIPPED'] as const;
export type StepStatus = (typeof stepStatuses)[number];

export const Step = Type.Object({
  stepId: Uuid,
  pipelineRunId: Uuid,
  name: Name,
  componentType: Type.String({ minLength: 1, maxLength: 255 }),
  status: oneOf(stepStatuses),
  startedAt: DateTime,
  finishedAt: Type.Optional(DateTime),
  message: Type.Optional(Type.String({ maxLength: 10_000 })),
  rowCount: Type.Optional(Type.Integer({ minimum: 0 })),
  childPipeline: Type.Optional(
    Type.Object({ id: Uuid, name: Type.String({ minLength: 1, maxLength: 1_200 }) }),
  ),
});
/**
 * One run of one component. `pipelineRunId` is the execution's id for the pipeline that was started and an id
 * of its own for each pipeline called below it. A step is sent whole again, under the same `stepId`, when it
 * changes.
 */
export type Step = Static<typeof Step>;

const Reporting = { ...Holding, sequence: Type.Integer({ minimum: 1 }) };

export const Report = Type.Union([
  Type.Object({ ...Reporting, type: Type.Literal('started') }),
  Type.Object({
    ...Reporting,
    type: Type.Literal('progress'),
    steps: Type.Array(Step, { minItems: 1, maxItems: 1_000 }),
  }),
  Type.Object({
    ...Reporting,
    type: Type.Literal('completed'),
    outcome: Type.Object({
      status: oneOf(['SUCCESS', 'FAILED', 'CANCELLED']),
      message: Type.Optional(Type.String({ maxLength: 10_000 })),
      receipt: Type.Optional(
        Type.String({ maxLength: receiptLimit, description: 'Of a secret that was written' }),
      ),
      valueFault: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 1_000,
          description: 'Of a FAILED secret write: why the sealed value itself is refused; no vault was asked',
        }),
      ),
      checkedSecrets: Type.Optional(CheckedSecrets),
    }),
  }),
  Type.Object({ ...Reporting, type: Type.Literal('released'), reason: Type.String({ maxLength: 1_000 }) }),
]);
export type Report = Static<typeof Report>;
/** What a holder reports of work that ended. */
export type WorkOutcome = Extract<Report, { type: 'completed' }>['outcome'];

export const ReportsRequest = Type.Object({
  instanceId: Uuid,
  reports: Type.Array(Report, { minItems: 1, maxItems: reportLimit }),
});
export type ReportsRequest = Static<typeof ReportsRequest>;

/** The last two end the work: it is FAILED. */
export const reportRefusals = [
  'stale-epoch',
  'work-not-found',
  'run-of-another-work',
  'too-many-steps',
  'implausible-time',
] as const;
export type ReportRefusal = (typeof reportRefusals)[number];

export const ReportsResponse = Type.Object({
  results: Type.Array(
    Type.Union([
      Type.Object({ workId: Uuid, accepted: Type.Literal(true) }),
      Type.Object({
        workId: Uuid,
        accepted: Type.Literal(false),
        code: oneOf(reportRefusals),
        detail: Type.String({ maxLength: 1_000 }),
      }),
    ]),
    { maxItems: reportLimit },
  ),
});
export type ReportsResponse = Static<typeof ReportsResponse>;

export const ArtifactManifest = Type.Object({
  digest: OpaqueId,
  files: Type.Array(
    Type.Object({
      path: Type.String({ minLength: 1, maxLength: 1_024 }),
      sha256: Type.String({ minLength: 64, maxLength: 64 }),
      size: Type.Integer({ minimum: 0 }),
    }),
    { maxItems: 10_000 },
  ),
});
export type ArtifactManifest = Static<typeof ArtifactManifest>;

/**
 * The canonical form of a manifest: a line a file, in the order of their paths (by UTF-16 code unit). Its
 * SHA-256 in hexadecimal is the digest that names the artifact, so whoever fetched one can verify it.
 */
export function canonicalManifest(files: ArtifactManifest['files']): string {
  return files.toSorted(byPath).map(canonicalLine).join('');
}

type ManifestFile = ArtifactManifest['files'][number];

/** The order of files in a manifest, for `sort`: no two have the same path. */
export function byPath(one: ManifestFile, other: ManifestFile): number {
  return one.path < other.path ? -1 : 1;
}

/** What a manifest's canonical form says of a file. */
export function canonicalLine({ path, sha256, size }: ManifestFile): string {
  return `${sha256} ${size} ${path}\n`;
}

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

export const SecretLookup = Type.Object({ instanceId: Uuid, ...Holding, name: SecretReferenceName });
/** By who holds the work of a project: which of its secret references. */
export type SecretLookup = Static<typeof SecretLookup>;

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

export const CertificateRequest = Type.Object({
  instanceId: Uuid,
  request: Type.String({
    minLength: 1,
    maxLength: 10_000,
    description: 'PKCS#10 in PEM, by a key on the curve P-256 or of RSA with 2048 to 4096 bits',
  }),
});
export type CertificateRequest = Static<typeof CertificateRequest>;

export const IssuedCertificate = Type.Object({
  certificate: Type.String({ maxLength: 10_000, description: 'PEM' }),
  issuerChain: Type.Array(Type.String({ maxLength: 10_000, description: 'PEM' }), { maxItems: 4 }),
  kid: Type.String({ minLength: 43, maxLength: 43 }),
  notBefore: DateTime,
  notAfter: DateTime,
});
export type IssuedCertificate = Static<typeof IssuedCertificate>;

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
