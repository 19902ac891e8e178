/** Claims: what an agent gets to do a piece of work. */
import { type Static, Type } from 'typebox';
import { DateTime, EnvironmentName, mapOf, Name, oneOf, Uuid } from '../primitives.ts';
import { SecretWriteWork } from '../secret/secret-value.ts';
import { SecretCheckWork } from '../secret-reference/secret-check.ts';
import {
  GridRow,
  NumberValue,
  TextValue,
  VariableBehaviour,
  VariableType,
  VariableValue,
} from '../variable/variable-value.ts';
import { agentCommands, Command, claimLimit, claimWaitLimitSeconds, type WorkKind } from './work.ts';

/** The warehouses of projects (project.ts), in the protocol's words. */
export const warehouseKinds = ['duckdb', 'snowflake', 'redshift', 'postgres'] as const;

export const ProjectVariable = Type.Object({
  name: Name,
  type: VariableType,
  behaviour: VariableBehaviour,
  value: Type.Optional(VariableValue),
  isOverride: Type.Optional(
    Type.Boolean({ description: 'True if the value is an override of the environment' }),
  ),
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

/** The number of ignored pipeline files that an agent gets for a version, and the length of each reason. */
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
