/** Statements for each table of a list. */
import { ParameterError, type Parameters } from '../expressions/parameters.ts';
import type { TableReference } from '../sql/dialect/dialect.ts';
import type { Action, OrchestrationContext } from './definition/component.ts';
import { readPlace } from './definition/plan-parts.ts';

/** The tables of a list, or of a single name. @throws ParameterError */
function readTableReferences(parameters: Parameters, tablesParameter: string): TableReference[] {
  const single = typeof parameters.value(tablesParameter) === 'string';
  const place = readPlace(parameters);
  const tables = single ? [parameters.text(tablesParameter)] : parameters.names(tablesParameter);
  return tables.map((table) => ({ ...place, table }));
}

/**
 * One statement for each table of a list. No statement is needed if the list comes from an empty grid.
 *
 * @throws ParameterError if the list is written and empty
 */
export function planForTables(
  { parameters, component, dialect }: Omit<OrchestrationContext, 'scope'>,
  tablesParameter: string,
  render: (table: string) => string,
): Action {
  const tables = readTableReferences(parameters, tablesParameter);
  if (tables.length > 0)
    return { action: 'execute', statements: tables.map((table) => render(dialect.table(table))) };
  const written = component.parameters[tablesParameter];
  if (typeof written === 'object' && written !== null && !Array.isArray(written))
    return { action: 'pass', message: `the grid of "${tablesParameter}" is empty: nothing to do` };
  throw new ParameterError(`"${tablesParameter}" is empty: name a table`);
}
