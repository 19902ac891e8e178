/**
 * The definition of a component type: its parameters and its plan.
 *
 * - **action**: the plan of an orchestration's component; plain data and SQL that the engine carries out.
 * - **relation**: the plan of a transformation's component; one SELECT over its sources, which becomes a CTE
 *   named after the component.
 * - **output**: a transformation's component that writes; each is one statement or one transaction.
 */
import { ParameterError, type Parameters } from '../parameters.ts';
import type { OrchestrationComponent, PipelineType } from '../pipeline.ts';
import type { Resolved } from '../resolve.ts';
import type { SharedPipelineUse } from '../shared-pipeline-use.ts';
import type { Dialect, StatementList, TableReference } from '../sql/dialect.ts';
import type { Scalar, VariableScope } from '../variables.ts';
import type { ParameterTable } from './declared-parameters.ts';

/** Why an assert does not hold. */
export interface AssertionFault {
  readonly message: string;
  /** For the result of a test: texts of one or more lines. */
  readonly expected: string;
  readonly actual: string;
}

export interface AssertionCheck {
  readonly query: string;
  /** Returns the fault in the query's rows, or undefined. */
  verify(rows: readonly (readonly unknown[])[]): AssertionFault | undefined;
  /** Whether the query returns a single cell with the number of rows to report. */
  readonly counts: boolean;
}

/** Values for variables of a called pipeline. */
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
  /** `fault`: one that is found without a query. */
  | { action: 'assert'; checks: readonly AssertionCheck[]; fault?: AssertionFault }
  | ({ action: 'run-pipeline'; pipelineType: PipelineType; pipelineName: string } & CallArguments)
  /** Its type is that of its file. */
  | ({ action: 'run-pipeline-under-test'; pipelineName: string } & CallArguments)
  | ({ action: 'run-shared-pipeline'; use: SharedPipelineUse; pipelineName: string } & CallArguments)
  | {
      action: 'iterate';
      target: string;
      /** The variables set by each iteration. */
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

/** Where the documentation lists a component. */
export const componentGroups = {
  flow: 'Flow',
  iterators: 'Iterators',
  variables: 'Variables',
  sql: 'SQL',
  scripts: 'Scripts',
  tables: 'Tables',
  files: 'Files',
  tests: 'Tests',
  read: 'Read',
  transform: 'Transform',
  write: 'Write',
} as const;
export type ComponentGroup = keyof typeof componentGroups;

/** What all definitions declare. The documentation and the JSON Schema are generated from it. */
interface ComponentFrame {
  /** What the component does: a few sentences in Markdown. */
  readonly about: string;
  readonly group: ComponentGroup;
  /** The known parameters, in the order in which the documentation lists them. */
  readonly parameters: ParameterTable;
  /**
   * Known parameters of other warehouses. Like all unknown parameters they have no effect here and are named
   * in the step's message, but they are never taken for a misspelled parameter.
   */
  readonly noEffect?: readonly string[];
  /** Other types with the same behaviour. Vendors' suffixes, such as `-v2`, need no entry. */
  readonly aliases?: readonly string[];
  /** A component as YAML. Tests parse and validate it. */
  readonly example: string;
}

export interface OrchestrationDefinition extends ComponentFrame {
  readonly kind: 'orchestration';
  /** It runs its iterationTarget. */
  readonly iterates?: true;
  /** It uses the project's warehouse. */
  readonly warehouse?: true;
  /**
   * What it changes besides tables and files of the agent, such as "sends an e-mail". A test refuses it before
   * it starts.
   */
  readonly changesElsewhere?: string;
  /** @throws ParameterError, SqlError, VariableError */
  plan(context: OrchestrationContext): Action;
  /**
   * Replaces `plan` in the check before the run if `plan` reads variables, whose values are not known then.
   *
   * @throws ParameterError, SqlError
   */
  check?(context: Omit<OrchestrationContext, 'scope'>): void;
}

export interface Source {
  readonly component: string;
  /** Its CTE's name, quoted. */
  readonly name: string;
  /** In order; undefined if only the warehouse knows them. */
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
  /** The statements to run. `query` is the select with its WITH clause. */
  write(query: string): StatementList;
}

interface TransformationFrame extends ComponentFrame {
  readonly kind: 'transformation';
  /** How many sources it takes, at least and at most. */
  readonly sources: readonly [least: number, most: number];
}

export type TransformationDefinition =
  | (TransformationFrame & { readonly output: false; plan(context: TransformationContext): Relation })
  | (TransformationFrame & { readonly output: true; plan(context: TransformationContext): Output });

export type ComponentDefinition = OrchestrationDefinition | TransformationDefinition;

/** Reads a table reference from `database`, `schema` and a parameter. @throws ParameterError */
export function readTableReference(parameters: Parameters, tableParameter: string): TableReference {
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

/** The source of a component that takes exactly one. */
export function getOnlySource(context: TransformationContext): Source {
  const [source] = context.sources;
  if (source === undefined) throw new ParameterError('the component has no source: connect one');
  return source;
}

/** Wraps an SQL expression of the user. The line break keeps a trailing comment from hiding what follows. */
export function wrapUserExpression(sql: string): string {
  if (sql.trim() === '') throw new ParameterError('an SQL expression is empty: fill it in');
  return `(${sql.trim()}${sql.includes('--') ? '\n' : ''})`;
}

export function createSingleStatement(statement: string): StatementList {
  return { statements: [statement], counted: 0 };
}

export function isSameName(left: string, right: string): boolean {
  return left.toLowerCase() === right.toLowerCase();
}

/** The columns of a source except some, as a select list; '' if none is left. */
export function renderColumnsExcept(source: Source, except: readonly string[], dialect: Dialect): string {
  if (except.length === 0) return '*';
  if (source.columns === undefined) return dialect.columnsExcept(except);
  return listColumnsExcept(source.columns, except)?.map(dialect.name).join(', ') ?? '';
}

export function listColumnsExcept(
  columns: readonly string[] | undefined,
  except: readonly string[],
): string[] | undefined {
  return columns?.filter((column) => !except.some((each) => isSameName(each, column)));
}

/** An ORDER BY clause of columns, each a name or `[name, Ascending or Descending]`; '' if there are none. */
export function renderOrderBy(parameters: Parameters, parameter: string, dialect: Dialect): string {
  const terms = parameters.rows(parameter, 1).map((row) => renderOrderTerm(row, dialect));
  return terms.length === 0 ? '' : `\nORDER BY ${terms.join(', ')}`;
}

export function renderOrderTerm(row: readonly Resolved[], dialect: Dialect): string {
  const direction = String(row[1] ?? 'Ascending')
    .trim()
    .toLowerCase();
  if (!['', 'ascending', 'descending', 'asc', 'desc'].includes(direction)) {
    throw new ParameterError(`the order is "${row[1]}": use Ascending or Descending`);
  }
  return `${dialect.name(String(row[0] ?? ''))}${direction.startsWith('desc') ? ' DESC' : ''}`;
}
