/** All component types. A new type is one file, and entries in this file. */
import type { PipelineType } from '../pipeline.ts';
import { aggregate } from './aggregate.ts';
import { assertTable } from './assert-table.ts';
import { calculator } from './calculator.ts';
import type { ComponentDefinition, OrchestrationDefinition, TransformationDefinition } from './component.ts';
import { createTable } from './create-table.ts';
import { fileLoad } from './file-load.ts';
import { fileUnload } from './file-unload.ts';
import { filter } from './filter.ts';
import { fixedFlow } from './fixed-flow.ts';
import { endFailure, endSuccess, pass } from './flow.ts';
import { gridIterator } from './grid-iterator.ts';
import { ifComponent } from './if.ts';
import { join } from './join.ts';
import { printVariables } from './print-variables.ts';
import { queryToScalar } from './query-to-scalar.ts';
import { rank } from './rank.ts';
import { rename } from './rename.ts';
import { rewriteTable } from './rewrite-table.ts';
import { runOrchestration, runTransformation } from './run-pipeline.ts';
import { runSharedPipeline } from './run-shared-pipeline.ts';
import { sqlComponent } from './sql.ts';
import { sqlScript } from './sql-script.ts';
import { tableInput } from './table-input.ts';
import { tableOutput } from './table-output.ts';
import { unite } from './unite.ts';
import { updateScalar } from './update-scalar.ts';

export const orchestrationTypes = [
  'start',
  'end-success',
  'end-failure',
  'and',
  'or',
  'if',
  'run-orchestration',
  'run-transformation',
  'run-shared-pipeline',
  'grid-iterator',
  'update-scalar',
  'query-to-scalar',
  'print-variables',
  'sql-script',
  'create-table',
  'assert-table',
  'file-load',
  'file-unload',
] as const;
export const transformationTypes = [
  'table-input',
  'fixed-flow',
  'sql',
  'filter',
  'join',
  'calculator',
  'aggregate',
  'rename',
  'rank',
  'unite',
  'rewrite-table',
  'table-output',
] as const;
export type OrchestrationType = (typeof orchestrationTypes)[number];
export type TransformationType = (typeof transformationTypes)[number];
export type ComponentType = OrchestrationType | TransformationType;

type Registry = Record<OrchestrationType, OrchestrationDefinition> &
  Record<TransformationType, TransformationDefinition>;

const definitions: Registry & Record<ComponentType, ComponentDefinition> = {
  start: pass,
  and: pass,
  or: pass,
  'end-success': endSuccess,
  'end-failure': endFailure,
  if: ifComponent,
  'run-orchestration': runOrchestration,
  'run-transformation': runTransformation,
  'run-shared-pipeline': runSharedPipeline,
  'grid-iterator': gridIterator,
  'update-scalar': updateScalar,
  'query-to-scalar': queryToScalar,
  'print-variables': printVariables,
  'sql-script': sqlScript,
  'create-table': createTable,
  'assert-table': assertTable,
  'file-load': fileLoad,
  'file-unload': fileUnload,
  'table-input': tableInput,
  'fixed-flow': fixedFlow,
  sql: sqlComponent,
  filter,
  join,
  calculator,
  aggregate,
  rename,
  rank,
  unite,
  'rewrite-table': rewriteTable,
  'table-output': tableOutput,
};

/** An unknown component type. The message names the type and the file. */
export class UnknownComponentTypeError extends Error {}

export function findDefinition(type: string): ComponentDefinition | undefined {
  return Object.hasOwn(definitions, type) ? definitions[type as ComponentType] : undefined;
}

export function getOrchestrationDefinition(type: string, path: string): OrchestrationDefinition {
  const definition = findDefinition(type);
  if (definition?.kind === 'orchestration') return definition;
  throw new UnknownComponentTypeError(describeUnknownType(type, path, 'orchestration'));
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
): string {
  const other = findDefinition(type)?.kind;
  if (other !== undefined) {
    return `the component type "${type}" in ${path} belongs in a pipeline of type ${other}, not ${where}: move the component`;
  }
  return `the component type "${type}" in ${path} is not supported: ${remedy}`;
}

export function listComponentTypes(where: PipelineType): readonly string[] {
  return where === 'orchestration' ? orchestrationTypes : transformationTypes;
}
