/** Finds the definition of a component type. */
import { findNearestName } from '../format/nearest.ts';
import type { PipelineType, PlainMap } from '../format/pipeline.ts';
import { shorten } from '../format/template.ts';
import type {
  ComponentDefinition,
  OrchestrationDefinition,
  TransformationDefinition,
} from './definition/component.ts';
import { orchestrationDefinitions } from './orchestration-types.ts';
import { transformationDefinitions } from './transformation-types.ts';

export type OrchestrationType = keyof typeof orchestrationDefinitions;
export type TransformationType = keyof typeof transformationDefinitions;

const definitions: Readonly<Record<string, ComponentDefinition>> = {
  ...orchestrationDefinitions,
  ...transformationDefinitions,
};

const aliases: ReadonlyMap<string, string> = new Map(
  Object.entries(definitions).flatMap(([type, { aliases: others = [] }]) =>
    others.map((alias) => [alias, type] as const),
  ),
);

/** A version (`-v2`, `-1`) or the vendor's warehouse: Snowflake, Databricks (Delta Lake), Redshift, BigQuery. */
const vendorSuffix = /-(?:v?\d+|sf|dl|rs|db|bq)$/;

/** An unknown component type. The message names the type and the file. */
export class UnknownComponentTypeError extends Error {}

/** The type under which a type is defined: itself, the type of which it is an alias, or one without a suffix. */
export function findDefinedType(type: string): string | undefined {
  if (Object.hasOwn(definitions, type)) return type;
  const alias = aliases.get(type);
  if (alias !== undefined) return alias;
  const short = type.replace(vendorSuffix, '');
  return short === type ? undefined : findDefinedType(short);
}

export function findDefinition(type: string): ComponentDefinition | undefined {
  const defined = findDefinedType(type);
  return defined === undefined ? undefined : definitions[defined];
}

/** `parameters`: those of the component, which may tell more about an unknown type. */
export function getOrchestrationDefinition(
  type: string,
  path: string,
  parameters?: PlainMap,
): OrchestrationDefinition {
  const definition = findDefinition(type);
  if (definition?.kind === 'orchestration') return definition;
  const remedy = suggestType(type, 'orchestration');
  throw new UnknownComponentTypeError(describeUnknownType(type, path, 'orchestration', remedy, parameters));
}

export function getTransformationDefinition(type: string, path: string): TransformationDefinition {
  const definition = findDefinition(type);
  if (definition?.kind === 'transformation') return definition;
  throw new UnknownComponentTypeError(describeUnknownType(type, path, 'transformation'));
}

/** `remedy`: what to do if the type is unknown. */
export function describeUnknownType(
  type: string,
  path: string,
  where: PipelineType,
  remedy = 'replace the component or skip it',
  parameters: PlainMap = {},
): string {
  const other = findDefinition(type)?.kind;
  if (other !== undefined) {
    return `the component type "${type}" in ${path} belongs in a pipeline of type ${other}, not ${where}: move the component`;
  }
  const refusal = findRefusal(type.replace(vendorSuffix, ''));
  if (refusal !== undefined)
    return `the component type "${type}" in ${path}${describeOrigin(type, parameters)} ${refusal}`;
  return `the component type "${type}" in ${path} is not supported: ${remedy}`;
}

/** Where a migration leaves the type that a component had. */
const originParameter = '20';

function describeOrigin(type: string, parameters: PlainMap): string {
  const origin = parameters[originParameter];
  const known = type.startsWith('unknown-') && typeof origin === 'string' && origin.trim() !== '';
  return known ? ` (once "${shorten(origin.trim())}")` : '';
}

function suggestType(type: string, where: PipelineType): string | undefined {
  const nearest = findNearestName(type, listComponentTypes(where));
  return nearest === undefined ? undefined : `did you mean "${nearest}"?`;
}

/** The types of a kind of pipeline, without aliases. */
export function listComponentTypes(where: PipelineType): readonly string[] {
  return Object.keys(where === 'orchestration' ? orchestrationDefinitions : transformationDefinitions);
}

/**
 * Known types that fail by name, because a pipeline would give wrong results without them (docs/adr/0048).
 * Each has the remedy.
 */
const unmigrated =
  'is an unmigrated component, which the vendor’s migration left over: replace it by the component that it was, or skip it';
const transactions =
  'is not supported, because components do not share a transaction: put the statements into one sql-script with BEGIN and COMMIT';
const stream =
  'is not supported, because the embedded warehouse does not record changes: compare the rows with detect-changes';

const refusedTypes: Readonly<Record<string, string>> = {
  'unknown-orchestration': unmigrated,
  'unknown-transformation': unmigrated,
  begin: transactions,
  commit: transactions,
  rollback: transactions,
  'create-stream': stream,
  'stream-input': stream,
};

/** Why a type fails, as the end of a sentence; undefined if it is not known. */
function findRefusal(shortType: string): string | undefined {
  return Object.hasOwn(refusedTypes, shortType) ? refusedTypes[shortType] : undefined;
}
