/**
 * What the engine knows about a component type: which parameters it needs, and its plan.
 *
 * - **action**: what an orchestration's component comes to; plain data (and SQL) that the engine carries out.
 * - **relation**: what a transformation's component comes to; one SELECT over its sources, which becomes a
 *   CTE of its name.
 * - **output**: a transformation's component that writes; each is one statement, or one transaction.
 */
import { ParameterError, type Parameters } from '../parameters.ts';
import type { OrchestrationComponent, PipelineType } from '../pipeline.ts';
import type { Resolved } from '../resolve.ts';
import type { SharedPipelineUse } from '../shared-pipeline-use.ts';
import type { Dialect, StatementList, TableReference } from '../sql/dialect.ts';
import type { Scalar, VariableScope } from '../variables.ts';

export interface AssertionCheck {
  readonly query: string;
  /** What is wrong with the query's rows; undefined when nothing is. */
  verify(rows: readonly (readonly unknown[])[]): string | undefined;
  /** Whether the query's only cell is a number of rows to report. */
  readonly counts: boolean;
}

/** Values for variables of a pipeline that is called. */
export interface CallArguments {
  readonly scalars: readonly (readonly [variable: string, value: Resolved])[];
  readonly grids: readonly (readonly [variable: string, rows: Resolved])[];
}

export type Action =
  | { action: 'pass' }
  | { action: 'end'; status: 'SUCCESS' | 'FAILED' }
  | { action: 'branch'; condition: boolean | { expression: string } }
  | { action: 'execute'; statements: readonly string[] }
  | {
      action: 'query-scalars';
      query: string;
      mapping: readonly (readonly [variable: string, column: string])[];
    }
  | { action: 'update-scalars'; updates: readonly (readonly [variable: string, expression: string])[] }
  | { action: 'print'; lines: readonly string[] }
  | { action: 'assert'; checks: readonly AssertionCheck[] }
  | ({ action: 'run-pipeline'; pipelineType: PipelineType; pipelineName: string } & CallArguments)
  | ({ action: 'run-shared-pipeline'; use: SharedPipelineUse; pipelineName: string } & CallArguments)
  | {
      action: 'iterate';
      target: string;
      /** For each iteration the variables that it sets. */
      iterations: readonly (readonly (readonly [variable: string, value: Scalar])[])[];
      concurrent: boolean;
      breakOnFailure: boolean;
    }
  | { action: 'load-file'; source: string; statement(path: string): string }
  | { action: 'unload-file'; target: string; statement(path: string): string };

export interface OrchestrationContext {
  readonly parameters: Parameters;
  readonly component: OrchestrationComponent;
  readonly dialect: Dialect;
  readonly scope: VariableScope;
}

export interface OrchestrationDefinition {
  readonly kind: 'orchestration';
  /** Parameters that must be there whatever the others say. */
  readonly required: readonly string[];
  /** The others that it reads. */
  readonly optional: readonly string[];
  /** Parameters that hold expressions and are left as written. */
  readonly raw?: readonly string[];
  /** Parameters that name a file of the artifact. */
  readonly files?: readonly string[];
  /** It runs its iterationTarget. */
  readonly iterates?: true;
  /** It works in the project's warehouse. */
  readonly warehouse?: true;
  /** @throws ParameterError, SqlError, VariableError */
  plan(context: OrchestrationContext): Action;
  /**
   * In place of `plan` before the run, for a plan that reads variables.
   *
   * @throws ParameterError, SqlError
   */
  check?(context: Omit<OrchestrationContext, 'scope'>): void;
}

export interface Source {
  readonly component: string;
  /** Its CTE's name, quoted. */
  readonly name: string;
  /** In order, when they are known without asking the warehouse. */
  readonly columns: readonly string[] | undefined;
}

export interface TransformationContext {
  readonly parameters: Parameters;
  readonly component: string;
  readonly dialect: Dialect;
  readonly sources: readonly Source[];
}

export interface Relation {
  readonly select: string;
  readonly columns: readonly string[] | undefined;
}

export interface Output {
  readonly select: string;
  /** What runs around the select, which by then has its WITH before it. */
  write(query: string): StatementList;
}

interface TransformationFrame {
  readonly kind: 'transformation';
  readonly required: readonly string[];
  readonly optional: readonly string[];
  /** How many sources it takes, at least and at most. */
  readonly sources: readonly [least: number, most: number];
}

export type TransformationDefinition =
  | (TransformationFrame & { readonly output: false; plan(context: TransformationContext): Relation })
  | (TransformationFrame & { readonly output: true; plan(context: TransformationContext): Output });

export type ComponentDefinition = OrchestrationDefinition | TransformationDefinition;

/** The table that `database`, `schema` and a parameter name together. @throws ParameterError */
export function tableReference(parameters: Parameters, tableParameter: string): TableReference {
  for (const name of ['database', 'schema']) {
    if (parameters.value(name) === '[Custom]')
      throw new ParameterError(`"${name}" is [Custom]: write the name itself`);
  }
  return {
    database: parameters.optionalText('database'),
    schema: parameters.optionalText('schema'),
    table: parameters.text(tableParameter),
  };
}

/** The only source of a component whose definition demands exactly one. */
export function onlySource(context: TransformationContext): Source {
  const [source] = context.sources;
  if (source === undefined) throw new ParameterError('the component has no source: connect one');
  return source;
}

/**
 * SQL of the user in a place where one expression belongs; a comment at its end must not swallow what
 * follows.
 */
export function userExpression(sql: string): string {
  if (sql.trim() === '') throw new ParameterError('an SQL expression is empty: fill it in');
  return `(${sql.trim()}${sql.includes('--') ? '\n' : ''})`;
}

export function oneStatement(statement: string): StatementList {
  return { statements: [statement], counted: 0 };
}

export function sameName(left: string, right: string): boolean {
  return left.toLowerCase() === right.toLowerCase();
}

/** All columns of a source but some, as a select list; '' when none is left. */
export function columnsBut(source: Source, except: readonly string[], dialect: Dialect): string {
  if (except.length === 0) return '*';
  if (source.columns === undefined) return dialect.columnsExcept(except);
  return columnNamesBut(source.columns, except)?.map(dialect.name).join(', ') ?? '';
}

export function columnNamesBut(
  columns: readonly string[] | undefined,
  except: readonly string[],
): string[] | undefined {
  return columns?.filter((column) => !except.some((each) => sameName(each, column)));
}

/** `ORDER BY` of a list of columns, each a name or `[name, Ascending or Descending]`; '' for none. */
export function orderBy(parameters: Parameters, parameter: string, dialect: Dialect): string {
  const terms = parameters.rows(parameter, 1).map((row) => orderTerm(row, dialect));
  return terms.length === 0 ? '' : `\nORDER BY ${terms.join(', ')}`;
}

export function orderTerm(row: readonly Resolved[], dialect: Dialect): string {
  const direction = String(row[1] ?? 'Ascending')
    .trim()
    .toLowerCase();
  if (!['', 'ascending', 'descending', 'asc', 'desc'].includes(direction)) {
    throw new ParameterError(`the order "${row[1]}" can be Ascending or Descending`);
  }
  return `${dialect.name(String(row[0] ?? ''))}${direction.startsWith('desc') ? ' DESC' : ''}`;
}
