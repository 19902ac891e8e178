/** What the plans of several component types have in common: table references, mappings, orders. */
import { ParameterError, type Parameters, readCellText } from '../../expressions/parameters.ts';
import type { Resolved } from '../../expressions/resolve.ts';
import type { Dialect, StatementList, TableReference } from '../../sql/dialect/dialect.ts';
import type { Source, TransformationContext } from './component.ts';

/** Reads a table reference from `database`, `schema` and a parameter. @throws ParameterError */
export function readTableReference(parameters: Parameters, tableParameter: string): TableReference {
  return { ...readPlace(parameters), table: parameters.text(tableParameter) };
}

/** Reads `database` and `schema`. @throws ParameterError */
export function readPlace(parameters: Parameters): Omit<TableReference, 'table'> {
  for (const name of ['database', 'schema']) {
    if (parameters.value(name) === '[Custom]')
      throw new ParameterError(`"${name}" is [Custom]: write the name itself`);
  }
  return {
    database: parameters.optionalText('database'),
    schema: parameters.optionalText('schema'),
  };
}

/** The source of a component that takes exactly one. */
export function getOnlySource(context: TransformationContext): Source {
  const [source] = context.sources;
  if (source === undefined) throw new ParameterError('the component has no source: connect one');
  return source;
}

/** Wraps an SQL expression of the user. The line break keeps a trailing comment from hiding what follows. */
export function wrapUserExpression(written: string, dialect: Dialect): string {
  if (written.trim() === '') throw new ParameterError('an SQL expression is empty: fill it in');
  const { sql } = dialect.user.expression(written);
  return `(${sql.trim()}${sql.includes('--') ? '\n' : ''})`;
}

/** The statements that make a table, after those that make its schema. The last one is counted. */
export function createInSchema(
  dialect: Dialect,
  reference: TableReference,
  statement: string,
): StatementList {
  const statements = [...dialect.makeSchema(reference), statement];
  return { statements, counted: statements.length - 1 };
}

export function createSingleStatement(statement: string): StatementList {
  return { statements: [statement], counted: 0 };
}

export function isSameName(left: string, right: string): boolean {
  return left.toLowerCase() === right.toLowerCase();
}

/** Rows `[column, target]`. Without a target the column keeps its name. */
export function readMapping(parameters: Parameters, name: string): (readonly [string, string])[] {
  return parameters.rows(name, 1).map((row) => {
    const column = readCellText(row, 0);
    return [column, readCellText(row, 1) || column] as const;
  });
}

/** An ORDER BY clause of columns, each a name or `[name, Ascending or Descending]`; '' if there are none. */
export function renderOrderBy(parameters: Parameters, parameter: string, dialect: Dialect): string {
  const terms = parameters.rows(parameter, 1).map((row) => renderOrderTerm(row, dialect));
  return terms.length === 0 ? '' : `\nORDER BY ${terms.join(', ')}`;
}

/**
 * One term of ORDER BY: `[column, order, nulls]`, such as `[amount, Descending, Nulls Last]`. NULL is the
 * largest value unless the term says otherwise.
 */
export function renderOrderTerm(row: readonly Resolved[], dialect: Dialect): string {
  const written = row
    .slice(1)
    .map((cell) => String(cell ?? ''))
    .join(' ');
  const words = written.trim().toLowerCase();
  const [, direction = '', nulls] =
    /^(asc|ascending|desc|descending)?\s*(?:nulls\s+(first|last))?$/.exec(words) ?? [];
  if (words !== '' && direction === '' && nulls === undefined) {
    throw new ParameterError(
      `the order is "${written.trim()}": use Ascending or Descending, and Nulls First or Nulls Last`,
    );
  }
  const isDescending = direction.startsWith('desc');
  const place = nulls ?? (isDescending ? 'first' : 'last');
  return `${dialect.name(String(row[0] ?? ''))}${isDescending ? ' DESC' : ''} NULLS ${place.toUpperCase()}`;
}
