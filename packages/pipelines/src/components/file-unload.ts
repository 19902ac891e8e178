/** Writes a table, or a query's rows, to a file in the agent's files folder. */
import { ParameterError } from '../parameters.ts';
import { type OrchestrationDefinition, tableReference } from './component.ts';
import { readFileFormat } from './file-format.ts';
import { singleQuery } from './query-to-scalar.ts';

export const fileUnload: OrchestrationDefinition = {
  kind: 'orchestration',
  warehouse: true,
  required: ['target', 'fileType'],
  optional: ['query', 'table', 'delimiter', 'header', 'database', 'schema'],
  plan({ parameters, dialect }) {
    const format = readFileFormat(parameters);
    const query = parameters.optionalText('query');
    if ((query === undefined) === (parameters.optionalText('table') === undefined)) {
      throw new ParameterError('give either "table" or "query"');
    }
    const rows =
      query === undefined
        ? `SELECT * FROM ${dialect.table(tableReference(parameters, 'table'))}`
        : singleQuery(query);
    return {
      action: 'unload-file',
      target: parameters.text('target'),
      statement: (path) => dialect.writeFile(rows, path, format),
    };
  },
};
