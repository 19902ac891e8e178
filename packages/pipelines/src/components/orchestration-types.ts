/** The component types of orchestrations. A new type is one file, and one entry here. */

import { assertScalar } from './assert-scalar.ts';
import { assertTable } from './assert-table.ts';
import type { OrchestrationDefinition } from './component.ts';
import { createTable } from './create-table.ts';
import { fileLoad } from './file-load.ts';
import { fileUnload } from './file-unload.ts';
import { and, endFailure, endSuccess, or, start } from './flow.ts';
import { gridIterator } from './grid-iterator.ts';
import { ifComponent } from './if.ts';
import { printVariables } from './print-variables.ts';
import { queryToScalar } from './query-to-scalar.ts';
import { runOrchestration, runTransformation } from './run-pipeline.ts';
import { runPipelineUnderTest } from './run-pipeline-under-test.ts';
import { runSharedPipeline } from './run-shared-pipeline.ts';
import { sqlScript } from './sql-script.ts';
import { updateScalar } from './update-scalar.ts';

export const orchestrationDefinitions = {
  start,
  'end-success': endSuccess,
  'end-failure': endFailure,
  and,
  or,
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
  'run-pipeline-under-test': runPipelineUnderTest,
  'assert-table': assertTable,
  'assert-scalar': assertScalar,
  'file-load': fileLoad,
  'file-unload': fileUnload,
} satisfies Record<string, OrchestrationDefinition>;
