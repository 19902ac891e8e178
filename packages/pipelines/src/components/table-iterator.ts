/** Runs its iterationTarget once for each row of a table or a query. */
import { ParameterError, type Parameters } from '../expressions/parameters.ts';
import type { Dialect } from '../sql/dialect/dialect.ts';
import type { OrchestrationDefinition } from './definition/component.ts';
import {
  choiceParameter,
  placeParameters,
  rowsParameter,
  sqlParameter,
  textParameter,
} from './definition/declared-parameters.ts';
import { readMapping, readTableReference } from './definition/plan-parts.ts';
import { findResultColumn, toScalar } from './definition/query-result.ts';
import {
  orderParameters,
  readIsAdvanced,
  readSingleQuery,
  renderTableQuery,
} from './definition/table-query.ts';
import {
  checkIterationMode,
  iterationNoEffect,
  iterationParameters,
  readIterationMode,
} from './iteration-mode.ts';

const mappingCells = ['column', 'variable'];

export const tableIterator: OrchestrationDefinition = {
  kind: 'orchestration',
  iterates: true,
  warehouse: true,
  about:
    'Runs its `iterationTarget` once for each row of a table or a query, with cells of the row in variables.',
  group: 'iterators',
  parameters: {
    mode: choiceParameter('Basic: a table. Advanced: a query.', ['Basic', 'Advanced'], { required: true }),
    targetTable: textParameter('The table of the mode Basic.'),
    ...placeParameters,
    columnMapping: rowsParameter('Mode Basic: which column goes to which variable.', mappingCells, {
      variable: { as: 'scalar', cell: 1 },
    }),
    ...orderParameters,
    query: sqlParameter('The query of the mode Advanced.'),
    columnMapping1: rowsParameter('Mode Advanced: which column goes to which variable.', mappingCells, {
      variable: { as: 'scalar', cell: 1 },
    }),
    ...iterationParameters,
  },
  noEffect: iterationNoEffect,
  example: `type: table-iterator
iterationTarget: Load one
parameters:
  mode: Advanced
  query: SELECT name FROM tables_to_load ORDER BY name
  columnMapping1:
    - [name, tableName]
  concurrency: Concurrent`,
  plan({ parameters, component, dialect }) {
    const mode = readIterationMode(parameters, component);
    const { query, mapping } = readRows(parameters, dialect);
    return {
      action: 'iterate-query',
      query,
      list(result) {
        const sources = mapping.map(
          ([column, variable]) => [variable, findResultColumn(result, column)] as const,
        );
        return result.rows.map((row) =>
          sources.map(([variable, index]) => [variable, toScalar(row[index])] as const),
        );
      },
      ...mode,
    };
  },
  check({ parameters, dialect }) {
    readRows(parameters, dialect);
    checkIterationMode(parameters);
  },
};

function readRows(parameters: Parameters, dialect: Dialect) {
  if (readIsAdvanced(parameters)) {
    const query = readSingleQuery(parameters.text('query'), dialect);
    return { query, mapping: readIterationMapping(parameters, 'columnMapping1') };
  }
  const mapping = readIterationMapping(parameters, 'columnMapping');
  const columns = mapping.map(([column]) => column);
  const table = readTableReference(parameters, 'targetTable');
  return { query: renderTableQuery(table, columns, '', parameters, dialect), mapping };
}

function readIterationMapping(parameters: Parameters, name: string) {
  const mapping = readMapping(parameters, name);
  if (mapping.length === 0)
    throw new ParameterError(
      `"${name}" is empty, so every iteration would run the same: add a row for each column that the target uses`,
    );
  return mapping;
}
