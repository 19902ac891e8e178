/** Writes a table or a query's rows to a file in the agent's files folder. */
import { ParameterError } from '../expressions/parameters.ts';
import type { OrchestrationDefinition } from './definition/component.ts';
import { placeParameters, sqlParameter, textParameter } from './definition/declared-parameters.ts';
import { readTableReference } from './definition/plan-parts.ts';
import { readSingleQuery } from './definition/table-query.ts';
import { fileFormatParameters, readFileFormat } from './file-format.ts';

export const fileUnload: OrchestrationDefinition = {
  kind: 'orchestration',
  warehouse: true,
  embeddedOnly: ['POSTGRES'],
  about: 'Writes a table or the rows of a query to a file in the agent’s files folder.',
  group: 'files',
  parameters: {
    target: textParameter('The path of the file.', { required: true }),
    ...fileFormatParameters,
    table: textParameter('The table. Give this or `query`.'),
    query: sqlParameter('The query. Give this or `table`.'),
    ...placeParameters,
  },
  example: `type: file-unload
parameters:
  target: out/totals.csv
  fileType: CSV
  table: totals`,
  plan({ parameters, dialect }) {
    const format = readFileFormat(parameters);
    const query = parameters.optionalText('query');
    if ((query === undefined) === (parameters.optionalText('table') === undefined)) {
      throw new ParameterError(
        query === undefined
          ? '"table" and "query" are both missing: fill in one of them'
          : '"table" and "query" are both given: clear one of them',
      );
    }
    const rows =
      query === undefined
        ? `SELECT * FROM ${dialect.table(readTableReference(parameters, 'table'))}`
        : readSingleQuery(query, dialect);
    return {
      action: 'unload-file',
      target: parameters.text('target'),
      format,
      query: rows,
    };
  },
};
