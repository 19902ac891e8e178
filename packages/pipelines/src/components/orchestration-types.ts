/** The component types of orchestrations. A new type is one file, and one entry here. */

import { apiExtract } from './api-extract.ts';
import { apiExtractInput } from './api-extract-input.ts';
import { apiQuery } from './api-query.ts';
import { appendToGrid } from './append-to-grid.ts';
import { assertScalar } from './assert-scalar.ts';
import { assertTable } from './assert-table.ts';
import { bashScript } from './bash-script.ts';
import { createExternalTableComponent, refreshExternalTable } from './create-external-table.ts';
import { createTable } from './create-table.ts';
import { dataTransferObject } from './data-transfer-object.ts';
import type { OrchestrationDefinition } from './definition/component.ts';
import { deleteTables } from './delete-tables.ts';
import { excelQuery } from './excel-query.ts';
import { fileIterator } from './file-iterator.ts';
import { fileLoad } from './file-load.ts';
import { fileUnload } from './file-unload.ts';
import { fixedIterator } from './fixed-iterator.ts';
import { and, endFailure, endSuccess, or, start } from './flow.ts';
import { gridIterator } from './grid-iterator.ts';
import { ifComponent } from './if.ts';
import { loopIterator } from './loop-iterator.ts';
import { printVariables } from './print-variables.ts';
import { pythonPushdown } from './python-pushdown.ts';
import { pythonScript } from './python-script.ts';
import { queryToGrid } from './query-to-grid.ts';
import { queryToScalar } from './query-to-scalar.ts';
import { removeFromGrid } from './remove-from-grid.ts';
import { retry } from './retry.ts';
import { runOrchestration, runTransformation } from './run-pipeline.ts';
import { runPipelineUnderTest } from './run-pipeline-under-test.ts';
import { runSharedPipeline } from './run-shared-pipeline.ts';
import { azureBlobStorageLoad, googleCloudStorageLoad, s3Load } from './s3-load.ts';
import { azureBlobStorageUnload, googleCloudStorageUnload, s3Unload } from './s3-unload.ts';
import { sqlExecutor } from './sql-executor.ts';
import { sqlScript } from './sql-script.ts';
import { tableIterator } from './table-iterator.ts';
import { tableMetadataToGrid } from './table-metadata-to-grid.ts';
import { truncateTable } from './truncate-table.ts';
import { updateScalar } from './update-scalar.ts';
import {
  alterTable,
  alterWarehouse,
  analyzeTables,
  createFileFormat,
  vacuumTables,
} from './without-effect.ts';

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
  'table-iterator': tableIterator,
  'fixed-iterator': fixedIterator,
  'loop-iterator': loopIterator,
  'file-iterator': fileIterator,
  retry,
  'update-scalar': updateScalar,
  'query-to-scalar': queryToScalar,
  'query-to-grid': queryToGrid,
  'table-metadata-to-grid': tableMetadataToGrid,
  'append-to-grid': appendToGrid,
  'remove-from-grid': removeFromGrid,
  'print-variables': printVariables,
  'sql-executor': sqlExecutor,
  'sql-script': sqlScript,
  'create-table': createTable,
  'run-pipeline-under-test': runPipelineUnderTest,
  'delete-tables': deleteTables,
  'truncate-table': truncateTable,
  'alter-table': alterTable,
  'alter-warehouse': alterWarehouse,
  'create-file-format': createFileFormat,
  'create-external-table': createExternalTableComponent,
  'refresh-external-table': refreshExternalTable,
  'analyze-tables': analyzeTables,
  'vacuum-tables': vacuumTables,
  'assert-table': assertTable,
  'assert-scalar': assertScalar,
  's3-load': s3Load,
  'azure-blob-storage-load': azureBlobStorageLoad,
  'google-cloud-storage-load': googleCloudStorageLoad,
  's3-unload': s3Unload,
  'azure-blob-storage-unload': azureBlobStorageUnload,
  'google-cloud-storage-unload': googleCloudStorageUnload,
  'data-transfer-object': dataTransferObject,
  'file-load': fileLoad,
  'file-unload': fileUnload,
  'excel-query': excelQuery,
  'modular-api-extract-input-v2': apiExtractInput,
  'api-extract': apiExtract,
  'api-query': apiQuery,
  'python-script': pythonScript,
  'python-pushdown': pythonPushdown,
  'bash-script': bashScript,
} satisfies Record<string, OrchestrationDefinition>;
