/** What the payloads of all work that runs pipelines have in common. */
import { type Static, Type } from 'typebox';
import { ConnectionPropertyMap } from '../environment/environment-connection.ts';
import { EnvironmentName, Generation, Name, oneOf, Uuid } from '../primitives.ts';
import { sqlDialects } from '../project/project.ts';
import { VariableBehaviour, VariableType, VariableValue } from '../variable/variable-value.ts';

/** The warehouses of projects (project.ts), in the protocol's words. */
export const warehouseKinds = [
  'duckdb',
  'snowflake',
  'redshift',
  'postgres',
  'databricks',
  'bigquery',
] as const;

export const ProjectVariable = Type.Object({
  name: Name,
  type: VariableType,
  behaviour: VariableBehaviour,
  value: Type.Optional(VariableValue),
  isOverride: Type.Optional(
    Type.Boolean({ description: 'True if the value is an override of the environment' }),
  ),
  supportsDoubleResolution: Type.Optional(
    Type.Boolean({ description: 'True if references in the value are resolved when the variable is read' }),
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

/** The connection of an environment to its warehouse, with the environment's overrides in place. */
export const WarehouseConnectionValues = Type.Object({
  name: Name,
  properties: ConnectionPropertyMap,
});
export type WarehouseConnectionValues = Static<typeof WarehouseConnectionValues>;

/** What an agent needs to know of the warehouse of a project. */
export const ProjectWarehouse = Type.Object({
  kind: oneOf(warehouseKinds, {
    description:
      'The warehouse of the project. An agent runs nothing in another one, and refuses a kind that it does not know',
  }),
  sqlDialect: Type.Optional(oneOf(sqlDialects, { description: 'Absent, of an older server: SNOWFLAKE' })),
  ignoreAccessStatements: Type.Optional(Type.Boolean({ description: 'Absent, of an older server: false' })),
  connection: Type.Optional({
    ...WarehouseConnectionValues,
    description: 'Absent: the environment has none, or the warehouse is the embedded one',
  }),
});
export type ProjectWarehouse = Static<typeof ProjectWarehouse>;

export const runMembers = {
  projectId: Uuid,
  environmentName: EnvironmentName,
  generation: Generation,
  versionName: Name,
  artifactDigest: ArtifactDigest,
  ignoredPipelines: IgnoredPipelines,
  sharedArtifacts: Type.Optional(Type.Array(SharedArtifact, { maxItems: sharedArtifactLimit })),
  variables: Type.Array(ProjectVariable, { maxItems: 10_000 }),
  timeLimitSeconds: Type.Integer({ minimum: 1 }),
  warehouse: ProjectWarehouse,
};
/** The place, the version and the variables of a run. */
const RunMembers = Type.Object(runMembers);
export type RunMembers = Static<typeof RunMembers>;
